// flux-t-submit [-n COUNT] [-w WINDOW] [-r RANK] [-u URGENCY] [-f FLAGS] [-a SYSTEM] [-q] [COMMAND...]: submit COUNT
// one-core jobs, WINDOW requests at a time, and print their ids; with -q only how long it took. SYSTEM is a JSON object
// put into `attributes.system`. Exit 1 with the first error.
#include <flux/handle.hpp>
#include <flux/job_id.hpp>
#include <flux/job_ingest_protocol.hpp>
#include <flux/sign.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace flux;

class Arguments {
public:
    Arguments() {}
    unsigned long count = 1;
    unsigned long window = 100;
    CallOptions options;
    int urgency = 16;
    int flags = 0;
    std::string system = "{}";
    bool quiet = false;
    std::vector<std::string> command;
};

std::string jobspec(const Arguments& arguments) {
    auto slot = Json::object("type", "slot", "count", 1, "label", "task", "with",
                             Json::array_of(Json::object("type", "core", "count", 1)));
    auto task = Json::object("command", Json(arguments.command), "slot", "task", "count", Json::object("per_slot", 1));
    auto system = Json::object("duration", 0, "cwd", "/tmp", "environment", Json::object("HOME", "/tmp"));
    system.update(Json::parse(arguments.system));
    return Json::object("version", 1, "resources", Json::array_of(std::move(slot)), "tasks",
                        Json::array_of(std::move(task)), "attributes", Json::object("system", std::move(system)))
        .dump();
}

Task<int> run(Handle* handle, const Arguments* arguments) {
    auto J = SignedRequest::sign(jobspec(*arguments), ::getuid());
    auto payload = Payload::from_json(Json::object("J", J, "urgency", arguments->urgency, "flags", arguments->flags));
    auto start = std::chrono::steady_clock::now();
    std::deque<Call> under_way;
    unsigned long sent = 0;
    while (sent < arguments->count || !under_way.empty()) {
        while (sent < arguments->count && under_way.size() < arguments->window) {
            under_way.push_back(handle->call(job_ingest_protocol::submit.topic, payload, arguments->options));
            ++sent;
        }
        auto answer = co_await under_way.front();
        under_way.pop_front();
        if (!arguments->quiet) fmt::print("{}\n", answer.json().get<JobId>("id").dec());
    }
    auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (arguments->quiet)
        fmt::print("{} jobs in {:.3f}s: {:.0f}/s\n", sent, seconds, static_cast<double>(sent) / seconds);
    co_return 0;
}

} // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    for (int c; (c = ::getopt(argc, argv, "+n:w:r:u:f:a:q")) != -1;) {
        switch (c) {
        case 'n': arguments.count = std::strtoul(optarg, nullptr, 10); break;
        case 'w': arguments.window = std::strtoul(optarg, nullptr, 10); break;
        case 'r': arguments.options.rank(static_cast<std::uint32_t>(std::strtoul(optarg, nullptr, 10))); break;
        case 'u': arguments.urgency = std::atoi(optarg); break;
        case 'f': arguments.flags = std::atoi(optarg); break;
        case 'a': arguments.system = optarg; break;
        case 'q': arguments.quiet = true; break;
        default: return 2;
        }
    }
    arguments.command.assign(argv + optind, argv + argc);
    if (arguments.command.empty()) arguments.command.push_back("true");
    try {
        Loop loop;
        Scope scope(loop);
        auto handle = Handle::open(loop);
        return run_task<int>(scope, &run, handle.get(), &arguments);
    } catch (const Error& error) {
        fmt::print(stderr, "errno {}: {}\n", error.errnum(), error.what());
        return 1;
    }
}
