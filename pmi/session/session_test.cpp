#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <pmi/session/session.hpp>
#include <vector>

using namespace flux::pmi;
using Catch::Matchers::Contains;

namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

/// Variables of launchers, for one test.
class Environment {
public:
    explicit Environment(Variables variables) {
        clear();
        for (auto [name, value] : variables) ::setenv(name, value, 1);
    }
    ~Environment() { clear(); }

private:
    static void clear() {
        for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS", "OMPI_COMM_WORLD_SIZE",
                                 "FLUX_JOB_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "PMI_FD"})
            ::unsetenv(name);
    }
};

SessionOptions with(std::vector<std::string> methods) {
    SessionOptions options;
    options.methods = std::move(methods);
    return options;
}

} // namespace

TEST_CASE("launchers with several tasks are recognized", "[pmi]") {
    struct Case {
        Variables variables;
        std::optional<std::string> claim;
    };
    for (const auto& [variables, claim] : {
             Case{{}, std::nullopt},
             Case{{{"SLURM_NTASKS", "4"}}, "SLURM_NTASKS=4"},
             Case{{{"SLURM_NTASKS", "1"}}, std::nullopt},
             Case{{{"SLURM_NTASKS", "1"}, {"PMIX_RANK", "0"}}, std::nullopt},
             Case{{{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "1"}}, "OMPI_COMM_WORLD_SIZE=2"},
             Case{{{"PMIX_RANK", "0"}}, "PMIX_RANK=0"},
             Case{{{"SLURM_NTASKS", "many"}}, std::nullopt},
         }) {
        Environment environment(variables);
        CHECK(launcher_claim() == claim);
    }
}

TEST_CASE("a task among others is no instance of its own", "[pmi]") {
    Environment environment(Variables{{"SLURM_NTASKS", "4"}});
    CHECK_THROWS_WITH(open_session({}), Contains("SLURM_NTASKS=4") && Contains("srun --mpi=pmi2"));
    CHECK(open_session(with({"single"}))->size == 1);
}

TEST_CASE("methods are tried in order", "[pmi]") {
    Environment environment(Variables{});
    auto session = open_session(with({"simple", "libpmi:/no/such/library.so", "single"}));
    CHECK(session->method == "single");
    session->put("key", "value");
    session->barrier();
    CHECK(session->get("key") == "value");
    CHECK(!session->find("other"));
    CHECK_THROWS_WITH(open_session(with({"simple"})), "bootstrap failed: simple: PMI_FD is not set");
    CHECK_THROWS_WITH(open_session(with({"smoke"})), "bootstrap failed: smoke: unknown method");
}
