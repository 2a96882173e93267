#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <pmi/process_mapping.hpp>
#include <pmi/server_thread.hpp>
#include <spawn.h>
#include <sys/wait.h>

using namespace flux::pmi;

namespace {

/// Run the program as the tasks of a job. \returns the exit codes.
std::vector<int> run_job(const std::vector<int>& client_ends, const char* program, const char* argument = nullptr) {
    const auto size = client_ends.size();
    std::vector<pid_t> tasks;
    for (std::size_t rank = 0; rank < size; ++rank) {
        const std::string variables[] = {"PMI_FD=3", "PMI_RANK=" + std::to_string(rank),
                                         "PMI_SIZE=" + std::to_string(size)};
        std::vector<char*> environment;
        for (const auto& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
        environment.push_back(nullptr);
        char* arguments[] = {const_cast<char*>(program), const_cast<char*>(argument), nullptr};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, client_ends[rank], 3);
        pid_t task = -1;
        REQUIRE(posix_spawn(&task, program, &actions, nullptr, arguments, environment.data()) == 0);
        posix_spawn_file_actions_destroy(&actions);
        ::close(client_ends[rank]);
        tasks.push_back(task);
    }
    std::vector<int> codes;
    for (const auto task : tasks) {
        int status = 0;
        REQUIRE(::waitpid(task, &status, 0) == task);
        codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    return codes;
}

/// The server of a job with two tasks on each node.
Server job_server(unsigned size) {
    Server server({"job", size, size});
    const MapBlock blocks[] = {{0, (size + 1) / 2, 2}};
    server.preset("PMI_process_mapping", process_mapping(blocks));
    return server;
}

} // namespace

TEST_CASE("pmi library: C programs trade names", "[pmi]") {
    const auto* program = GENERATE(PMI_TASK, PMI2_TASK);
    CAPTURE(program);
    const SocketPairs sockets(4);
    ServerThread server(job_server(4), sockets.server_ends);
    CHECK(run_job(sockets.client_ends, program) == std::vector<int>(4, 0));
    CHECK(server.join() == -1);
}

TEST_CASE("pmi library: a task aborts the job", "[pmi]") {
    const SocketPairs sockets(1);
    ServerThread server(job_server(1), sockets.server_ends);
    CHECK(run_job(sockets.client_ends, PMI_TASK, "42") == std::vector<int>{42});
    CHECK(server.join() == 42);
}

TEST_CASE("pmi library: both export what MPI libraries look for", "[pmi]") {
    const auto check = [](const char* library, const std::string& prefix, const std::vector<std::string>& names) {
        void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
        INFO(library);
        REQUIRE(handle);
        CHECK(::dlsym(handle, "flux_pmi_library"));
        for (const auto& name : names) {
            INFO(name);
            CHECK(::dlsym(handle, (prefix + name).c_str()));
        }
        CHECK(!::dlsym(handle, "_ZTIN4flux5ErrorE"));
        ::dlclose(handle);
    };
    check(PMI_LIBRARY, "PMI_",
          {"Init",
           "Initialized",
           "Finalize",
           "Abort",
           "Barrier",
           "Get_size",
           "Get_rank",
           "Get_universe_size",
           "Get_appnum",
           "Get_id",
           "Get_id_length_max",
           "Get_kvs_domain_id",
           "Get_clique_size",
           "Get_clique_ranks",
           "KVS_Get_my_name",
           "KVS_Get_name_length_max",
           "KVS_Get_key_length_max",
           "KVS_Get_value_length_max",
           "KVS_Create",
           "KVS_Destroy",
           "KVS_Put",
           "KVS_Commit",
           "KVS_Get",
           "KVS_Iter_first",
           "KVS_Iter_next",
           "Publish_name",
           "Unpublish_name",
           "Lookup_name",
           "Spawn_multiple",
           "Parse_option",
           "Args_to_keyval",
           "Free_keyvals",
           "Get_options"});
    check(PMI2_LIBRARY, "PMI2_",
          {"Init",
           "Initialized",
           "Finalize",
           "Abort",
           "Job_GetId",
           "KVS_Put",
           "KVS_Get",
           "KVS_Fence",
           "Info_GetJobAttr",
           "Info_PutNodeAttr",
           "Info_GetNodeAttr",
           "Job_GetRank",
           "Job_Connect",
           "Job_Disconnect",
           "Job_Spawn",
           "Nameserv_publish",
           "Nameserv_lookup",
           "Nameserv_unpublish",
           "Info_GetSize",
           "Info_GetJobAttrIntArray",
           "Info_GetNodeAttrIntArray"});
}
