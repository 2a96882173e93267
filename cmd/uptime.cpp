// flux uptime: how long the instance has been there, and how it is (cli.md 6.30).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/output/convert.hpp"
#include "cmd/select/select.hpp"
#include "cmd/time/moment.hpp"

#include <flux/duration.hpp>
#include <flux/idset.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/parse_integer.hpp>
#include <flux/resource_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd {
namespace {

namespace jobs = job_manager_protocol;

/// What all queues have in common.
Task<std::string> queue_remarks(Handle* handle) {
    auto listed = co_await handle->call(jobs::queue_list.topic);
    auto leader = CallOptions().rank(0);
    std::vector<Call> calls;
    for (const auto& name : listed.json().get<std::vector<std::string>>("queues"))
        calls.push_back(handle->call(jobs::queue_status.topic, Json::object("name", name), leader));
    if (calls.empty()) calls.push_back(handle->call(jobs::queue_status.topic, Json::object(), leader));
    bool disabled = true, stopped = true;
    for (auto& call : calls) {
        auto status = co_await call;
        disabled = disabled && !status.json().get<bool>("enable");
        stopped = stopped && !status.json().get<bool>("start");
    }
    std::string text;
    if (disabled) text += "submit disabled";
    if (stopped) text += text.empty() ? "scheduler stopped" : ",  scheduler stopped";
    co_return std::move(text);
}

Task<std::size_t> count_drained(Handle* handle) {
    auto leader = CallOptions().rank(0);
    auto status = co_await handle->call(resource_protocol::status.topic, leader);
    Idset drained;
    for (auto [ranks, info] : status.json()["drain"].members()) drained |= Idset::parse(ranks);
    co_return drained.count();
}

/// Run a look-up of a service that may not be loaded.
template <class T> Task<T> unless_missing(Task<T> (*function)(Handle*), Handle* handle, T fallback) {
    try {
        co_return co_await function(handle);
    } catch (const Error& error) {
        if (error.errnum() != ENOSYS) throw;
    }
    co_return std::move(fallback);
}

std::string number_of(std::size_t count, const char* what) {
    return count > 0 ? fmt::format(",  {} {}", count, what) : std::string();
}

Task<int> uptime(Handle* handle) {
    auto state_call = handle->call("state-machine.get");
    auto owner = co_await handle->get_attr("security.owner");
    auto size_text = co_await handle->get_attr("size");
    auto level = co_await handle->get_attr("instance-level");
    auto answer = co_await state_call;
    auto state = answer.json().get<std::string>("state");
    auto seconds = answer.json().get<double>("duration");
    const auto size = parse_integer<std::size_t>(size_text.value_or("1")).value_or(1);

    std::string counts, remarks;
    if (state == "run") {
        auto leader = CallOptions().rank(0);
        auto start = co_await handle->call("attr.get", Json::object("name", "broker.starttime"), leader);
        seconds = moment::parse("now") - std::stod(start.json().get<std::string>("value"));
        auto online = co_await handle->call("groups.get", Json::object("name", "broker.online"), leader);
        auto drained = co_await unless_missing(&count_drained, handle, std::size_t(0));
        counts =
            number_of(drained, "drained") + number_of(size - online.json().get<Idset>("members").count(), "offline");
        remarks = co_await unless_missing(&queue_remarks, handle, std::string());
    }
    fmt::print(" {} {} {},  owner {},  depth {},  size {}{}\n", output::local_time(moment::parse("now"), "%T"), state,
               format_duration(seconds, 2),
               select::user_name(parse_integer<std::uint32_t>(owner.value_or("")).value_or(0)), level.value_or("0"),
               size, counts);
    if (!remarks.empty()) fmt::print("  {}\n", remarks);
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&uptime, &context.handle());
}

} // namespace

extern const options::Command cmd_uptime;
const options::Command cmd_uptime{.name = "uptime",
                                  .program = "flux-uptime",
                                  .synopsis = "[OPTIONS]",
                                  .help = "Tell how long Flux has been up and running",
                                  .run = &run};

} // namespace flux::cmd
