/* A task that trades names with all others over PMI-1. Exits 0 when all is as it should be, else with the number of the
 * line that found otherwise. With an argument the task of rank 0 aborts the job with it. */
#include <pmi/pmi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
    if (!(condition)) exit(__LINE__)

int main(int argc, char **argv)
{
    int spawned = -1, initialized = -1, rank = -1, size = -1, universe = -1, appnum = -1;
    int name_max = 0, id_max = 0, key_max = 0, value_max = 0, clique_size = 0;
    int clique[64];
    char name[64], id[64], key[64], value[1024], tooshort[4], toolong[2048];

    EXPECT(PMI_Initialized(&initialized) == PMI_SUCCESS && initialized == PMI_FALSE);
    EXPECT(PMI_Get_rank(&rank) == PMI_ERR_INIT);
    EXPECT(PMI_Init(&spawned) == PMI_SUCCESS && spawned == 0);
    EXPECT(PMI_Initialized(&initialized) == PMI_SUCCESS && initialized == PMI_TRUE);
    EXPECT(PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS);
    EXPECT(PMI_Get_rank(NULL) == PMI_ERR_INVALID_ARG);
    EXPECT(PMI_Get_universe_size(&universe) == PMI_SUCCESS && universe == size);
    EXPECT(PMI_Get_appnum(&appnum) == PMI_SUCCESS && appnum == 0);
    if (argc > 1 && rank == 0) PMI_Abort(atoi(argv[1]), "told to");

    EXPECT(PMI_KVS_Get_name_length_max(&name_max) == PMI_SUCCESS && name_max == 64);
    EXPECT(PMI_Get_id_length_max(&id_max) == PMI_SUCCESS && id_max == 64);
    EXPECT(PMI_KVS_Get_key_length_max(&key_max) == PMI_SUCCESS && key_max == 64);
    EXPECT(PMI_KVS_Get_value_length_max(&value_max) == PMI_SUCCESS && value_max == 1024);
    EXPECT(PMI_KVS_Get_my_name(name, sizeof(name)) == PMI_SUCCESS);
    EXPECT(PMI_KVS_Get_my_name(tooshort, 3) == PMI_ERR_INVALID_LENGTH);
    EXPECT(PMI_KVS_Get_my_name(NULL, 4) == PMI_ERR_INVALID_ARG);
    EXPECT(PMI_Get_id(id, sizeof(id)) == PMI_SUCCESS && strcmp(id, name) == 0);
    EXPECT(PMI_Get_kvs_domain_id(id, sizeof(id)) == PMI_SUCCESS && strcmp(id, name) == 0);

    EXPECT(PMI_Get_clique_size(&clique_size) == PMI_SUCCESS && clique_size == 2);
    EXPECT(PMI_Get_clique_ranks(clique, 1) == PMI_ERR_INVALID_SIZE);
    EXPECT(PMI_Get_clique_ranks(clique, 64) == PMI_SUCCESS);
    EXPECT(clique[0] == rank / 2 * 2 && clique[1] == rank / 2 * 2 + 1);

    snprintf(key, sizeof(key), "name-%d", rank);
    snprintf(value, sizeof(value), "task %d of %d", rank, size);
    EXPECT(PMI_KVS_Put(name, key, value) == PMI_SUCCESS);
    EXPECT(PMI_KVS_Commit(name) == PMI_SUCCESS);
    EXPECT(PMI_Barrier() == PMI_SUCCESS);
    for (int peer = 0; peer < size; peer++) {
        char expected[64];
        snprintf(key, sizeof(key), "name-%d", peer);
        snprintf(expected, sizeof(expected), "task %d of %d", peer, size);
        EXPECT(PMI_KVS_Get(name, key, value, sizeof(value)) == PMI_SUCCESS);
        EXPECT(strcmp(value, expected) == 0);
    }
    EXPECT(PMI_KVS_Get(name, "absent", value, sizeof(value)) == PMI_ERR_INVALID_KEY);
    EXPECT(PMI_KVS_Get(name, "name-0", tooshort, sizeof(tooshort)) == PMI_ERR_INVALID_LENGTH);
    EXPECT(PMI_KVS_Put(name, "two words", "v") == PMI_ERR_INVALID_KEY);
    EXPECT(PMI_KVS_Put(name, "k", "two\nlines") == PMI_ERR_INVALID_VAL);
    memset(toolong, 'x', sizeof(toolong) - 1);
    toolong[sizeof(toolong) - 1] = '\0';
    EXPECT(PMI_KVS_Put(toolong, "k", "v") == PMI_ERR_INVALID_LENGTH);
    EXPECT(PMI_KVS_Put(name, toolong, "v") == PMI_ERR_INVALID_KEY_LENGTH);
    EXPECT(PMI_KVS_Get(name, toolong, value, sizeof(value)) == PMI_ERR_INVALID_KEY_LENGTH);
    EXPECT(PMI_KVS_Put(name, "k", toolong) == PMI_ERR_INVALID_VAL_LENGTH);
    EXPECT(PMI_Publish_name("service", "port") == PMI_FAIL);
    EXPECT(PMI_Finalize() == PMI_SUCCESS);
    EXPECT(PMI_Finalize() == PMI_ERR_INIT);
    return 0;
}
