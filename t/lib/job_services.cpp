// flux-t-job-services [-s [-l LIMIT] [-c CORES]] [-e [-H]] [-r FIFO]: a scheduler (-s) of CORES cores on rank 0 and an
// execution service (-e) whose jobs run without processes, for tests of job-manager; both until SIGTERM. Jobs end at
// once, with -H when they get a fatal exception; the wait status is `attributes.system.status`, 15 after an exception.
// What they are told is printed, a line each. FIFO is opened for writing when both serve.
#include <flux/handle.hpp>
#include <flux/idset.hpp>
#include <flux/job_id.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/kvs.hpp>

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <map>
#include <string>
#include <unistd.h>

namespace {

using namespace flux;
namespace protocol = job_manager_protocol;

class Arguments {
public:
    Arguments() {}
    bool sched = false;
    std::optional<int> limit;
    unsigned cores = 1;
    bool exec = false;
    bool hold = false;
    std::string ready_fifo;
};

void say(const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

class Scheduler {
public:
    Scheduler(Handle& handle, Scope& scope, const Arguments& arguments)
        : handle_(handle), scope_(scope), arguments_(arguments), free_(Idset::below(arguments.cores)) {}

    Task<> start() {
        serve("sched.alloc", [this](Request request) {
            auto id = request.json().get<JobId>("id");
            say("alloc " + id.dec());
            waiting_.push_back(request);
            pass();
        });
        serve("sched.cancel", [this](Request request) { cancel(request.json().get<JobId>("id")); });
        serve("sched.prioritize", [](Request request) { say("prioritize " + request.json()["jobs"].dump()); });
        serve("sched.free", [this](Request request) {
            auto id = request.json().get<JobId>("id");
            say("free " + id.dec());
            free_ |= Idset::parse(core_of(request.json()["R"]));
            pass();
        });
        co_await handle_.call("service.add", Json::object("service", "sched"));
    }

    Task<> greet() {
        waiting_.clear();
        free_ = Idset::below(arguments_.cores);
        auto hello = handle_.stream(protocol::sched_hello.topic, Json::object("partial-ok", true));
        while (auto message = co_await hello.next()) {
            auto id = message->json().get<JobId>("id");
            say("hello " + id.dec());
            auto R = co_await kvs::lookup(handle_, id.kvs() + ".R");
            free_ -= Idset::parse(core_of(R.json()));
        }
        auto mode = Json::object("mode", arguments_.limit ? "limited" : "unlimited");
        if (arguments_.limit) mode.set("limit", *arguments_.limit);
        auto ready = co_await handle_.call(protocol::sched_ready.topic, std::move(mode));
        say(fmt::format("ready {}", ready.json().get<int>("count")));
    }

private:
    void serve(std::string_view topic, Handle::Handler handler) {
        handle_.serve(Method(topic, MethodClass::once), std::move(handler));
    }
    static std::string core_of(JsonView R) {
        return R["execution"]["R_lite"][std::size_t(0)]["children"].get<std::string>("core");
    }
    void cancel(JobId id) {
        say("cancel " + id.dec());
        for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
            if (at->json().get<JobId>("id") != id) continue;
            at->respond(Json::object("id", id, "type", 3));
            waiting_.erase(at);
            return;
        }
    }
    void pass() {
        while (!waiting_.empty() && !free_.empty()) {
            auto core = *free_.first();
            free_.clear(core);
            scope_.spawn("grant", &Scheduler::grant, &handle_, waiting_.front(), core);
            waiting_.pop_front();
        }
    }
    static Task<> grant(Handle* handle, Request request, std::uint32_t core) {
        auto id = request.json().get<JobId>("id");
        auto children = Json::object("core", std::to_string(core));
        auto lite = Json::array_of(Json::object("rank", "0", "children", std::move(children)));
        auto execution = Json::object("R_lite", std::move(lite), "starttime", 1.0, "expiration", 0.0, "nodelist",
                                      Json::array_of("host"));
        auto R = Json::object("version", 1, "execution", std::move(execution));
        kvs::Transaction transaction;
        transaction.put_json(id.kvs() + ".R", R);
        co_await kvs::commit(*handle, transaction);
        auto summary = Json::object("resource_summary", fmt::format("rank0/core{}", core));
        auto annotations = Json::object("sched", std::move(summary));
        request.respond(Json::object("id", id, "type", 0, "annotations", std::move(annotations), "R", std::move(R)));
    }

    Handle& handle_;
    Scope& scope_;
    const Arguments& arguments_;
    Idset free_;
    std::deque<Request> waiting_;
};

class Executor {
public:
    Executor(Handle& handle, const Arguments& arguments) : handle_(handle), arguments_(arguments) {}

    Task<> start() {
        handle_.serve(Method("test-exec.start", MethodClass::once), [this](Request request) { begin(request); });
        co_await handle_.call("service.add", Json::object("service", "test-exec"));
        co_await handle_.subscribe(protocol::job_exception_event, [this](const Message& event) {
            auto id = event.json().get<JobId>("id");
            say(fmt::format("exception {} {}", id.dec(), event.json().get<std::string>("type")));
            if (event.json().get<int>("severity") == 0) end(id, 15);
        });
    }

    Task<> greet() {
        running_.clear();
        co_await handle_.call(protocol::exec_hello.topic, Json::object("service", "test-exec"));
    }

private:
    static void tell(const Request& request, JobId id, const char* type, Json data) {
        request.respond(Json::object("id", id, "type", type, "data", std::move(data)));
    }
    void begin(const Request& request) {
        auto id = request.json().get<JobId>("id");
        bool reattach = request.json().get<bool>("reattach");
        say(fmt::format("{} {}", reattach ? "reattach" : "start", id.dec()));
        running_[id] = request;
        tell(request, id, reattach ? "reattached" : "start", Json::object());
        auto status = request.json()["jobspec"].find("attributes.system.status").try_as<int>();
        if (!arguments_.hold) end(id, status.value_or(0));
    }
    void end(JobId id, int status) {
        auto found = running_.find(id);
        if (found == running_.end()) return;
        tell(found->second, id, "finish", Json::object("status", status));
        tell(found->second, id, "release", Json::object("ranks", "all", "final", true));
        running_.erase(found);
    }

    Handle& handle_;
    const Arguments& arguments_;
    std::map<JobId, Request> running_;
};

Task<int> run(Handle* handle, Scope* scope, const Arguments* arguments) {
    Scheduler scheduler(*handle, *scope, *arguments);
    Executor executor(*handle, *arguments);
    if (arguments->sched) co_await scheduler.start();
    if (arguments->exec) co_await executor.start();
    bool ready = false;
    // Every job-manager that comes is told who is there.
    auto watch = handle->stream("service.watch", Json::object("service", "job-manager"));
    SignalWatcher term(handle->loop(), SIGTERM, [&](int) { watch.cancel(); });
    while (auto change = co_await watch.next()) {
        if (!change->json().get<bool>("up")) continue;
        if (arguments->sched) co_await scheduler.greet();
        if (arguments->exec) co_await executor.greet();
        if (std::exchange(ready, true) || arguments->ready_fifo.empty()) continue;
        ::close(::open(arguments->ready_fifo.c_str(), O_WRONLY | O_CLOEXEC));
    }
    co_return 0;
}

} // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    for (int c; (c = ::getopt(argc, argv, "sl:c:eHr:")) != -1;) {
        switch (c) {
        case 's': arguments.sched = true; break;
        case 'l': arguments.limit = std::atoi(optarg); break;
        case 'c': arguments.cores = static_cast<unsigned>(std::atoi(optarg)); break;
        case 'e': arguments.exec = true; break;
        case 'H': arguments.hold = true; break;
        case 'r': arguments.ready_fifo = optarg; break;
        default: return 2;
        }
    }
    try {
        Loop loop;
        Scope scope(loop);
        auto handle = Handle::open(loop);
        return run_task<int>(scope, &run, handle.get(), &scope, &arguments);
    } catch (const Error& error) {
        fmt::print(stderr, "errno {}: {}\n", error.errnum(), error.what());
        return 1;
    }
}
