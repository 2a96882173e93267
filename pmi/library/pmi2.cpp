// libpmi2.so: the PMI-2 C interface over the PMI-1 wire protocol.
#include <algorithm>
#include <chrono>
#include <optional>
#include <pmi/library/process.hpp>
#include <pmi/pmi2.h>
#include <string>
#include <thread>

using namespace flux::pmi;
using namespace flux::pmi::library;

namespace {

/// A node attribute is often put a moment after another task asks for it, and the protocol has no message that tells.
constexpr int attribute_tries = 30;
constexpr std::chrono::seconds attribute_interval{1};

std::string attribute_key(const char* name) { return std::string("local::") + name; }

/// Give an attribute, or that there is none, to a C caller.
int give(const std::optional<std::string>& attribute, char* value, int length, int* found) {
    if (found) *found = attribute.has_value();
    return attribute ? copy(*attribute, value, length) : PMI2_SUCCESS;
}

} // namespace

int PMI2_Init(int* spawned_out, int* size, int* rank, int* appnum) {
    try {
        start();
        if (spawned_out) *spawned_out = spawned();
        if (size) *size = static_cast<int>(client()->size());
        if (rank) *rank = static_cast<int>(client()->rank());
        if (appnum) *appnum = client()->appnum();
        return PMI2_SUCCESS;
    } catch (...) { // a C caller only knows the code
        return PMI2_FAIL;
    }
}

int PMI2_Initialized() { return client() != nullptr; }

int PMI2_Finalize() {
    return guarded([](Client&) {
        finish();
        return success;
    });
}

int PMI2_Abort(int, const char msg[]) { library::abort("PMI2_Abort", 1, msg); }

int PMI2_Job_GetId(char jobid[], int jobid_size) {
    return guarded([&](Client& client) { return copy(client.kvsname(), jobid, jobid_size); });
}

int PMI2_KVS_Put(const char key[], const char value[]) {
    return guarded([&](Client& client) { return put(client, key, value); });
}

int PMI2_KVS_Get(const char*, int, const char key[], char value[], int maxvalue, int* vallen) {
    return guarded([&](Client& client) -> int {
        if (!key || !value || !vallen) return PMI2_ERR_INVALID_ARG;
        if (maxvalue <= 0) return PMI2_ERR_INVALID_VAL_LENGTH;
        const auto found = client.find(key);
        if (!found) return PMI2_ERR_INVALID_KEY;
        const auto length = static_cast<int>(found->size());
        const auto room = maxvalue - 1;
        *vallen = length > room ? -length : length;
        return copy(std::string_view(*found).substr(0, static_cast<std::size_t>(room)), value, maxvalue);
    });
}

int PMI2_KVS_Fence() {
    return guarded([](Client& client) {
        client.barrier();
        return success;
    });
}

int PMI2_Info_PutNodeAttr(const char name[], const char value[]) {
    return guarded([&](Client& client) -> int {
        if (!name) return PMI2_ERR_INVALID_ARG;
        return put(client, attribute_key(name).c_str(), value);
    });
}

int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int* found, int waitfor) {
    return guarded([&](Client& client) -> int {
        if (!name || !value) return PMI2_ERR_INVALID_ARG;
        const auto key = attribute_key(name);
        auto attribute = client.find(key);
        for (int attempt = 0; waitfor && !attribute && attempt < attribute_tries; ++attempt) {
            std::this_thread::sleep_for(attribute_interval);
            attribute = client.find(key);
        }
        return give(attribute, value, valuelen, found);
    });
}

int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int* found) {
    return guarded([&](Client& client) -> int {
        if (!name || !value) return PMI2_ERR_INVALID_ARG;
        const std::string_view wanted(name);
        std::optional<std::string> attribute;
        if (wanted == "PMI_process_mapping")
            attribute = client.find(wanted);
        else if (wanted == "universeSize")
            attribute = std::to_string(client.universe_size());
        return give(attribute, value, valuelen, found);
    });
}

int PMI2_Info_GetSize(int*) { return PMI2_FAIL; }
int PMI2_Info_GetNodeAttrIntArray(const char*, int*, int, int*, int*) { return PMI2_FAIL; }
int PMI2_Info_GetJobAttrIntArray(const char*, int*, int, int*, int*) { return PMI2_FAIL; }
int PMI2_Job_GetRank(int*) { return PMI2_FAIL; }
int PMI2_Job_Connect(const char*, PMI2_Connect_comm_t*) { return PMI2_FAIL; }
int PMI2_Job_Disconnect(const char*) { return PMI2_FAIL; }
int PMI2_Job_Spawn(int, const char**, int*, const char***, const int*, const int*, const PMI2_keyval_t**, int,
                   const PMI2_keyval_t*, char*, int, int*) {
    return PMI2_FAIL;
}
int PMI2_Nameserv_publish(const char*, const PMI2_keyval_t*, const char*) { return PMI2_FAIL; }
int PMI2_Nameserv_lookup(const char*, const PMI2_keyval_t*, char*, int) { return PMI2_FAIL; }
int PMI2_Nameserv_unpublish(const char*, const PMI2_keyval_t*) { return PMI2_FAIL; }
