#include <flux/error.hpp>
#include <flux/parse_integer.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <pmi/session/methods.hpp>

namespace flux::pmi {
namespace {

/// Says on stderr what passes through a session.
class TracedSession final : public Session {
public:
    explicit TracedSession(std::unique_ptr<Session> inner) : inner_(std::move(inner)) {
        method = inner_->method;
        rank = inner_->rank;
        size = inner_->size;
        job = inner_->job;
        say("initialize: rank=" + std::to_string(rank) + " size=" + std::to_string(size) + " name=" + job);
    }
    void put(const std::string& key, const std::string& value) override {
        say("put(\"" + key + "\", \"" + value + "\")");
        inner_->put(key, value);
    }
    std::optional<std::string> find(const std::string& key) override {
        auto value = inner_->find(key);
        say("get(\"" + key + "\") = " + (value ? "\"" + *value + "\"" : std::string("nothing")));
        return value;
    }
    void barrier() override {
        say("barrier");
        inner_->barrier();
    }
    void abort(int exit_code, const std::string& text) override {
        say("abort(" + std::to_string(exit_code) + ", \"" + text + "\")");
        inner_->abort(exit_code, text);
    }
    void finalize() override {
        say("finalize");
        inner_->finalize();
    }

private:
    void say(const std::string& text) const { std::fprintf(stderr, "%s: %s\n", method.c_str(), text.c_str()); }
    std::unique_ptr<Session> inner_;
};

std::unique_ptr<Session> open(const std::string& method, bool foreign_only) {
    auto colon = method.find(':');
    auto scheme = method.substr(0, colon);
    auto path = colon == method.npos ? std::string() : method.substr(colon + 1);
    auto session = method == "simple"    ? open_simple()
                   : method == "single"  ? open_single()
                   : scheme == "libpmi2" ? open_libpmi2(path, foreign_only)
                   : scheme == "libpmi"  ? open_libpmi(path, foreign_only)
                                         : throw Error(EINVAL, "unknown method");
    session->method = method;
    return session;
}

} // namespace

std::string Session::get(const std::string& key) {
    if (auto value = find(key)) return *std::move(value);
    throw Error(ENOENT, "PMI get " + key + ": no such key");
}

std::optional<std::string> launcher_claim() {
    bool counted = false;
    for (const char* variable : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS", "OMPI_COMM_WORLD_SIZE",
                                 "FLUX_JOB_SIZE", "PMI_SIZE"}) {
        const char* text = std::getenv(variable);
        auto tasks = parse_integer<unsigned>(text ? text : "");
        if (tasks && *tasks > 1) return std::string(variable) + "=" + text;
        counted |= tasks.has_value();
    }
    // These tell that there is a launcher, but not whether it started more than one task.
    for (const char* variable : {"PMIX_RANK", "PMI_RANK"}) {
        if (const char* text = std::getenv(variable); text && !counted) return std::string(variable) + "=" + text;
    }
    return std::nullopt;
}

std::unique_ptr<Session> open_session(const SessionOptions& options) {
    const bool chosen = !options.methods.empty();
    const auto methods = chosen ? options.methods : std::vector<std::string>{"simple", "libpmi2", "libpmi", "single"};
    std::string failures;
    for (const auto& method : methods) {
        try {
            auto claim = launcher_claim();
            if (!chosen && method == "single" && claim)
                throw Error(ENOENT, "this is one of several tasks of a launcher (" + *claim +
                                        "); start them with PMI (mpiexec.hydra, srun --mpi=pmi2), or set "
                                        "broker.boot-method=single for a separate instance in each");
            auto session = open(method, options.foreign_library_only);
            if (!chosen && method.starts_with("libpmi") && session->size == 1) {
                session->finalize();
                throw Error(ENOENT, "it knows of one process only");
            }
            if (options.trace) return std::make_unique<TracedSession>(std::move(session));
            return session;
        } catch (const Error& error) {
            if (options.trace) std::fprintf(stderr, "%s: %s\n", method.c_str(), error.what());
            failures += (failures.empty() ? "" : "; ") + method + ": " + error.what();
        }
    }
    throw Error(ENOENT, "bootstrap failed: " + failures);
}

} // namespace flux::pmi
