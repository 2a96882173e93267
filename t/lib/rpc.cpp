// flux-t-rpc [-n COUNT] [-r RANK] [-u UID] [-s] [-m MAX] TOPIC [JSON]: make an RPC and print what comes back, for
// tests.
//   -n COUNT  make it that many times, one after the other, and print only the last answer
//   -u UID    as a guest of that id
//   -s        streaming: print every response; -m MAX: stop after so many; -w TEXT: stop after one that contains TEXT
// A failure prints `errno N: text` on stderr and exits 1.
#include <flux/handle.hpp>

#include <fmt/core.h>

#include <cstdlib>
#include <unistd.h>

namespace {

using namespace flux;

class Plan {
public:
    Plan() {}
    std::string topic;
    std::string payload;
    std::uint32_t rank = nodeid_any;
    Credentials credentials;
    unsigned count = 1;
    unsigned max = 0;
    std::string until;
    bool streaming = false;
};

Payload make_payload(const Plan& plan) {
    return plan.payload.empty() ? Payload() : Payload::from_json(Json::parse(plan.payload));
}

void print(const Message& message) {
    auto json = message.json();
    if (json) fmt::print("{}\n", json.dump());
    std::fflush(stdout);
}

Task<int> run(Handle* handle, Plan plan) {
    auto options = CallOptions().rank(plan.rank).credentials(plan.credentials);
    if (plan.streaming) {
        auto stream = handle->stream(plan.topic, make_payload(plan), options);
        for (unsigned seen = 0; plan.max == 0 || seen < plan.max; ++seen) {
            auto message = co_await stream.next();
            if (!message) break;
            print(*message);
            if (!plan.until.empty() && message->payload.bytes().find(plan.until) != std::string_view::npos) break;
        }
        co_return 0;
    }
    for (unsigned i = 0; i < plan.count; ++i) {
        auto reply = co_await handle->call(plan.topic, make_payload(plan), options);
        if (i + 1 == plan.count) print(reply);
    }
    co_return 0;
}

} // namespace

int main(int argc, char** argv) {
    Plan plan;
    for (int c; (c = ::getopt(argc, argv, "n:r:u:m:w:s")) != -1;) {
        switch (c) {
        case 'n': plan.count = static_cast<unsigned>(std::atoi(optarg)); break;
        case 'r': plan.rank = static_cast<std::uint32_t>(std::atoi(optarg)); break;
        case 'u': plan.credentials = {static_cast<std::uint32_t>(std::atoi(optarg)), role_user}; break;
        case 'm': plan.max = static_cast<unsigned>(std::atoi(optarg)); break;
        case 'w': plan.until = optarg; break;
        case 's': plan.streaming = true; break;
        default: return 2;
        }
    }
    if (optind >= argc) return 2;
    plan.topic = argv[optind];
    if (optind + 1 < argc) plan.payload = argv[optind + 1];
    Loop loop;
    Scope scope(loop);
    try {
        auto handle = Handle::open(loop);
        return run_task<int>(scope, &run, handle.get(), plan);
    } catch (const Error& error) {
        fmt::print(stderr, "errno {}: {}\n", error.errnum(), error.what());
        return 1;
    }
}
