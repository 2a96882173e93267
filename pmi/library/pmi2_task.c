/* A task that trades names with all others over PMI-2. Exits 0 when all is as it should be, else with the number of the
 * line that found otherwise. */
#include <pmi/pmi2.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
    if (!(condition)) exit(__LINE__)

int main(void)
{
    int spawned = -1, rank = -1, size = -1, appnum = -1, length = 0, found = -1;
    char name[64], key[64], value[1024], tooshort[4];

    EXPECT(!PMI2_Initialized());
    EXPECT(PMI2_KVS_Fence() == PMI2_ERR_INIT);
    EXPECT(PMI2_Init(&spawned, &size, &rank, &appnum) == PMI2_SUCCESS);
    EXPECT(PMI2_Initialized());
    EXPECT(spawned == 0 && appnum == 0 && rank >= 0 && rank < size);
    EXPECT(PMI2_Job_GetId(name, sizeof(name)) == PMI2_SUCCESS && strcmp(name, "job") == 0);

    snprintf(key, sizeof(key), "name-%d", rank);
    snprintf(value, sizeof(value), "task %d of %d", rank, size);
    EXPECT(PMI2_KVS_Put(key, value) == PMI2_SUCCESS);
    if (rank == 0) EXPECT(PMI2_Info_PutNodeAttr("leader", "zero") == PMI2_SUCCESS);
    EXPECT(PMI2_KVS_Fence() == PMI2_SUCCESS);
    for (int peer = 0; peer < size; peer++) {
        char expected[64];
        snprintf(key, sizeof(key), "name-%d", peer);
        snprintf(expected, sizeof(expected), "task %d of %d", peer, size);
        EXPECT(PMI2_KVS_Get(name, peer, key, value, sizeof(value), &length) == PMI2_SUCCESS);
        EXPECT(strcmp(value, expected) == 0 && length == (int)strlen(expected));
    }
    EXPECT(PMI2_KVS_Get(name, PMI2_ID_NULL, "name-0", tooshort, sizeof(tooshort), &length) == PMI2_SUCCESS);
    EXPECT(strcmp(tooshort, "tas") == 0 && length < 0);
    EXPECT(PMI2_KVS_Get(NULL, PMI2_ID_NULL, "absent", value, sizeof(value), &length) == PMI2_ERR_INVALID_KEY);

    EXPECT(PMI2_Info_GetNodeAttr("leader", value, sizeof(value), &found, 1) == PMI2_SUCCESS);
    EXPECT(found == 1 && strcmp(value, "zero") == 0);
    EXPECT(PMI2_Info_GetNodeAttr("absent", value, sizeof(value), &found, 0) == PMI2_SUCCESS && found == 0);
    EXPECT(PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof(value), &found) == PMI2_SUCCESS);
    EXPECT(found == 1 && strncmp(value, "(vector,", 8) == 0);
    EXPECT(PMI2_Info_GetJobAttr("universeSize", value, sizeof(value), &found) == PMI2_SUCCESS);
    EXPECT(found == 1 && atoi(value) == size);
    EXPECT(PMI2_Info_GetJobAttr("absent", value, sizeof(value), &found) == PMI2_SUCCESS && found == 0);
    EXPECT(PMI2_Job_GetRank(&rank) == PMI2_FAIL);
    EXPECT(PMI2_Finalize() == PMI2_SUCCESS);
    return 0;
}
