// flux ping: round trips to a service (cli.md 6.26).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/duration.hpp>
#include <flux/hostlist.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <ctime>

namespace flux::cmd {
namespace {

class Target {
public:
    Target() {}
    std::string node = "any";
    std::string service;
    std::uint32_t rank = nodeid_any;
    bool upstream = false;
};

class Plan {
public:
    Plan() {}
    Target target;
    std::size_t pad = 0;
    double interval = 1;
    unsigned count = 0;
    bool batch = false;
    bool userid = false;
};

bool parse_rank(const std::string& text, std::uint32_t& rank) {
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), rank);
    return failure == std::errc() && end == text.data() + text.size();
}

Task<int> resolve_host(Handle* handle, Target* target) {
    auto payload = Json::object("name", "hostlist");
    auto reply = co_await handle->call("attr.get", std::move(payload));
    auto hosts = Hostlist::parse(reply.json().get<std::string_view>("value"));
    auto rank = hosts.find(target->node);
    if (!rank) throw Error(EHOSTUNREACH, target->node + ": no such host in this instance");
    target->rank = static_cast<std::uint32_t>(*rank);
    co_return 0;
}

Call send(Handle& handle, const Plan& plan, unsigned seq) {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    auto payload = Json::object("seq", seq, "time.tv_sec", now.tv_sec, "time.tv_nsec", now.tv_nsec, "pad",
                                std::string(plan.pad, 'p'));
    CallOptions options;
    options.rank(plan.target.rank);
    if (plan.target.upstream) options.upstream();
    return handle.call(plan.target.service + ".ping", std::move(payload), options);
}

void print(const Plan& plan, const Message& reply) {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    auto json = reply.json();
    auto ms = static_cast<double>(now.tv_sec - json.get<std::int64_t>("time.tv_sec")) * 1e3 +
              static_cast<double>(now.tv_nsec - json.get<std::int64_t>("time.tv_nsec")) * 1e-6;
    std::string node = plan.target.rank == nodeid_any && !plan.target.upstream
                           ? std::to_string(json.get<std::uint32_t>("rank"))
                           : plan.target.node;
    std::string user;
    if (plan.userid)
        user = fmt::format(" userid={} rolemask=0x{:x}", json.get<std::uint32_t>("userid"),
                           json.get<std::uint32_t>("rolemask"));
    fmt::print("{}!{}.ping pad={}{} seq={} time={:.3f} ms ({})\n", node, plan.target.service, plan.pad, user,
               json.get<unsigned>("seq"), ms, json.get<std::string_view>("route"));
    std::fflush(stdout);
}

Task<int> ping(Handle* handle, Plan plan) {
    fmt::print("flux-ping {}!{}\n", plan.target.node, plan.target.service);
    std::fflush(stdout);
    std::vector<Call> batch;
    for (unsigned seq = 0; plan.count == 0 || seq < plan.count; ++seq) {
        if (plan.batch) {
            batch.push_back(send(*handle, plan, seq));
            continue;
        }
        auto reply = co_await send(*handle, plan, seq);
        print(plan, reply);
        if (seq + 1 == plan.count) break;
        auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(plan.interval));
        co_await sleep_for(time);
    }
    for (auto& call : batch) {
        auto reply = co_await call;
        print(plan, reply);
    }
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    Plan plan;
    plan.pad = parsed.number<std::size_t>("pad", 0);
    plan.interval = parse_duration(parsed.get("interval", "1s"));
    plan.count = parsed.number<unsigned>("count", 0);
    plan.batch = parsed.has("batch");
    plan.userid = parsed.has("userid");
    if (plan.batch && plan.count == 0) throw parsed.usage_error("--batch should only be used with --count");
    auto& target = plan.target;
    std::string text = parsed.operands()[0];
    auto bang = text.find('!');
    bool named_node = bang != std::string::npos;
    if (named_node) {
        target.node = text.substr(0, bang);
        target.service = text.substr(bang + 1);
    } else if (std::uint32_t rank; parse_rank(text, rank) || text == "any" || text == "upstream") {
        target.node = text;
        target.service = "broker";
    } else {
        target.service = text;
    }
    if (auto rank = parsed.find("rank")) target.node = *rank;
    if (target.node == "upstream")
        target.upstream = true;
    else if (target.node != "any" && !parse_rank(target.node, target.rank))
        context.run(&resolve_host, &context.handle(), &target);
    try {
        return context.run(&ping, &context.handle(), plan);
    } catch (const Error& error) {
        // What the broker says names the service, which stands there already.
        auto text = error.errnum() == ENOSYS ? Error(ENOSYS) : error;
        throw text.while_doing(fmt::format("{}!{}", target.node, target.service));
    }
}

constexpr options::Option ping_options[] = {
    {.name = "rank", .key = 'r', .value = options::Value::required, .argument = "N", .help = "send to this rank"},
    {.name = "pad",
     .key = 'p',
     .value = options::Value::required,
     .argument = "SIZE",
     .help = "add SIZE bytes to each message"},
    {.name = "interval",
     .key = 'i',
     .value = options::Value::required,
     .argument = "FSD",
     .help = "time between messages (1s)"},
    {.name = "count", .key = 'c', .value = options::Value::required, .argument = "N", .help = "stop after N messages"},
    {.name = "batch", .key = 'b', .help = "send all messages at once"},
    {.name = "userid", .key = 'u', .help = "show userid and rolemask of the request"},
};

} // namespace

extern const options::Command cmd_ping;
const options::Command cmd_ping{.name = "ping",
                                .program = "flux-ping",
                                .synopsis = "[OPTIONS] TARGET",
                                .help = "Measure round trip latency to a service",
                                .options = ping_options,
                                .run = &run};

} // namespace flux::cmd
