// libpmi.so: the PMI-1 C interface over the wire protocol.
#include <algorithm>
#include <pmi/library/process.hpp>
#include <pmi/pmi.h>
#include <pmi/process_mapping.hpp>
#include <vector>

using namespace flux::pmi;
using namespace flux::pmi::library;

namespace {

/// The ranks on this node, as far as the server knows.
std::vector<unsigned> node_ranks(Client& client) {
    std::vector<MapBlock> blocks;
    if (const auto map = client.find("flux.taskmap"))
        blocks = parse_taskmap(*map);
    else if (const auto mapping = client.find("PMI_process_mapping"))
        blocks = parse_process_mapping(*mapping);
    return clique(blocks, client.rank(), client.size());
}

int copy_name(char* buffer, int length) {
    return guarded([&](Client& client) { return copy(client.kvsname(), buffer, length); });
}

} // namespace

int PMI_Init(int* spawned_out) {
    try {
        start();
    } catch (...) { // a C caller only knows the code
        return PMI_FAIL;
    }
    if (spawned_out) *spawned_out = spawned();
    return PMI_SUCCESS;
}

int PMI_Initialized(PMI_BOOL* initialized) {
    if (!initialized) return PMI_ERR_INVALID_ARG;
    *initialized = client() ? PMI_TRUE : PMI_FALSE;
    return PMI_SUCCESS;
}

int PMI_Finalize() {
    return guarded([](Client&) {
        finish();
        return success;
    });
}

int PMI_Abort(int exit_code, const char error_msg[]) { library::abort("PMI_Abort", exit_code, error_msg); }

int PMI_Get_size(int* size) {
    return guarded_number(size, [](Client& client) { return client.size(); });
}

int PMI_Get_rank(int* rank) {
    return guarded_number(rank, [](Client& client) { return client.rank(); });
}

int PMI_Get_universe_size(int* size) {
    return guarded_number(size, [](Client& client) { return client.universe_size(); });
}

int PMI_Get_appnum(int* appnum) {
    return guarded_number(appnum, [](Client& client) { return client.appnum(); });
}

int PMI_Get_id(char id_str[], int length) { return copy_name(id_str, length); }
int PMI_Get_kvs_domain_id(char id_str[], int length) { return copy_name(id_str, length); }
int PMI_KVS_Get_my_name(char kvsname[], int length) { return copy_name(kvsname, length); }

int PMI_KVS_Get_name_length_max(int* length) {
    return guarded_number(length, [](Client& client) { return client.limits().kvsname; });
}

int PMI_Get_id_length_max(int* length) { return PMI_KVS_Get_name_length_max(length); }

int PMI_KVS_Get_key_length_max(int* length) {
    return guarded_number(length, [](Client& client) { return client.limits().key; });
}

int PMI_KVS_Get_value_length_max(int* length) {
    return guarded_number(length, [](Client& client) { return client.limits().value; });
}

int PMI_Get_clique_size(int* size) {
    return guarded_number(size, [](Client& client) { return node_ranks(client).size(); });
}

int PMI_Get_clique_ranks(int ranks[], int length) {
    if (!ranks) return PMI_ERR_INVALID_ARG;
    return guarded([&](Client& client) -> int {
        const auto own = node_ranks(client);
        if (length < 0 || own.size() > static_cast<std::size_t>(length)) return PMI_ERR_INVALID_SIZE;
        std::copy(own.begin(), own.end(), ranks);
        return success;
    });
}

int PMI_Barrier() {
    return guarded([](Client& client) {
        client.barrier();
        return success;
    });
}

int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]) {
    return guarded([&](Client& client) -> int {
        if (!kvsname) return PMI_ERR_INVALID_ARG;
        if (std::string_view(kvsname).size() >= client.limits().kvsname) return PMI_ERR_INVALID_LENGTH;
        return put(client, key, value);
    });
}

int PMI_KVS_Commit(const char kvsname[]) {
    return guarded([&](Client&) -> int { return kvsname ? PMI_SUCCESS : PMI_ERR_INVALID_ARG; });
}

int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length) {
    return guarded([&](Client& client) -> int {
        if (!kvsname || !key || !value) return PMI_ERR_INVALID_ARG;
        if (std::string_view(key).size() >= client.limits().key) return PMI_ERR_INVALID_KEY_LENGTH;
        const auto found = client.find(key);
        return found ? copy(*found, value, length) : PMI_ERR_INVALID_KEY;
    });
}

int PMI_KVS_Create(char*, int) { return PMI_FAIL; }
int PMI_KVS_Destroy(const char*) { return PMI_FAIL; }
int PMI_KVS_Iter_first(const char*, char*, int, char*, int) { return PMI_FAIL; }
int PMI_KVS_Iter_next(const char*, char*, int, char*, int) { return PMI_FAIL; }
int PMI_Publish_name(const char*, const char*) { return PMI_FAIL; }
int PMI_Unpublish_name(const char*) { return PMI_FAIL; }
int PMI_Lookup_name(const char*, char*) { return PMI_FAIL; }
int PMI_Spawn_multiple(int, const char**, const char***, const int*, const int*, const PMI_keyval_t**, int,
                       const PMI_keyval_t*, int*) {
    return PMI_FAIL;
}
int PMI_Parse_option(int, char**, int*, PMI_keyval_t**, int*) { return PMI_FAIL; }
int PMI_Args_to_keyval(int*, char* (*)[], PMI_keyval_t**, int*) { return PMI_FAIL; }
int PMI_Free_keyvals(PMI_keyval_t*, int) { return PMI_FAIL; }
int PMI_Get_options(char*, int*) { return PMI_FAIL; }
