/* The PMI-2 C interface of libpmi2.so, for MPI libraries that ask for it. It speaks PMI-1 with the job's server.
 *
 * Every function returns one of the codes below unless said otherwise. Lengths of buffers count the terminating NUL. */
#ifndef FLUX_PMI2_H
#define FLUX_PMI2_H

#ifdef __cplusplus
extern "C" {
#endif

#define PMI2_SUCCESS 0
#define PMI2_FAIL -1
#define PMI2_ERR_INIT 1
#define PMI2_ERR_NOMEM 2
#define PMI2_ERR_INVALID_ARG 3
#define PMI2_ERR_INVALID_KEY 4
#define PMI2_ERR_INVALID_KEY_LENGTH 5
#define PMI2_ERR_INVALID_VAL 6
#define PMI2_ERR_INVALID_VAL_LENGTH 7
#define PMI2_ERR_INVALID_LENGTH 8
#define PMI2_ERR_INVALID_NUM_ARGS 9
#define PMI2_ERR_INVALID_ARGS 10
#define PMI2_ERR_INVALID_NUM_PARSED 11
#define PMI2_ERR_INVALID_KEYVALP 12
#define PMI2_ERR_INVALID_SIZE 13
#define PMI2_ERR_OTHER 14

#define PMI2_MAX_KEYLEN 64
#define PMI2_MAX_VALLEN 1024
#define PMI2_MAX_ATTRVALUE 1024
#define PMI2_ID_NULL -1

typedef struct PMI2_keyval_t {
    char *key;
    char *val;
} PMI2_keyval_t;

typedef struct PMI2_Connect_comm {
    int (*read)(void *buf, int maxlen, void *ctx);
    int (*write)(const void *buf, int len, void *ctx);
    void *ctx;
    int isMaster;
} PMI2_Connect_comm_t;

/* Start and end. PMI2_Init fails when the environment names no PMI server. */
int PMI2_Init(int *spawned, int *size, int *rank, int *appnum);
/* Returns 1 between PMI2_Init and PMI2_Finalize, else 0. */
int PMI2_Initialized(void);
int PMI2_Finalize(void);
/* Ends the whole job; does not return. */
int PMI2_Abort(int flag, const char msg[]);

/* The key-value space of the job: what is put before a fence can be read by all after it.
 * The source of a key is not looked at; `vallen` gets the negative length of a value that was cut. */
int PMI2_Job_GetId(char jobid[], int jobid_size);
int PMI2_KVS_Put(const char key[], const char value[]);
int PMI2_KVS_Get(const char *jobid, int src_pmi_id, const char key[], char value[], int maxvalue, int *vallen);
int PMI2_KVS_Fence(void);

/* Attributes. A node attribute is seen by the tasks of the same node; with `waitfor` its reader waits for it, but not for
 * ever. Job attributes are `PMI_process_mapping` and `universeSize`. */
int PMI2_Info_PutNodeAttr(const char name[], const char value[]);
int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int *found, int waitfor);
int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int *found);

/* Not offered: these return PMI2_FAIL. */
int PMI2_Info_GetSize(int *size);
int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int *outlen, int *found);
int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen, int *outlen, int *found);
int PMI2_Job_GetRank(int *rank);
int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t *conn);
int PMI2_Job_Disconnect(const char jobid[]);
int PMI2_Job_Spawn(int count, const char *cmds[], int argcs[], const char **argvs[], const int maxprocs[],
                   const int info_keyval_sizes[], const PMI2_keyval_t *info_keyval_vectors[], int preput_keyval_size,
                   const PMI2_keyval_t preput_keyval_vector[], char jobId[], int jobIdSize, int errors[]);
int PMI2_Nameserv_publish(const char service_name[], const PMI2_keyval_t *info_ptr, const char port[]);
int PMI2_Nameserv_lookup(const char service_name[], const PMI2_keyval_t *info_ptr, char port[], int portLen);
int PMI2_Nameserv_unpublish(const char service_name[], const PMI2_keyval_t *info_ptr);

#ifdef __cplusplus
}
#endif

#endif
