// flux resource status, drain (as a listing): how ranks are
#include "cmd/formats.hpp"
#include "cmd/output/color.hpp"
#include "cmd/resource/commands.hpp"
#include "cmd/resource/merge.hpp"

#include <flux/job_manager_protocol.hpp>
#include <flux/resource_protocol.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

namespace flux::cmd::resource {
namespace {

constexpr output::NamedFormat status_formats[] = {
    {"default", "Default format for flux-resource status",
     "{state:>12} {color_up}{up:>2}{color_off} {nnodes:>6} {nodelist}"},
    {"long", "Format including drain reason",
     "{state:>12} {color_up}{up:>2}{color_off} {nnodes:>6} +:{reason:<30.30} {nodelist}"},
};
constexpr output::NamedFormat drain_formats[] = {
    {"default", "Default format for flux-resource drain",
     "{timestamp!d:%b%d %R::<12} {state:<8.8} {reason:<30.30+} {nodelist}"},
    {"long", "Format including ranks",
     "{timestamp!d:%b%d %R::<12} {state:<8.8} {ranks:<8.8+} +:{reason:<30.30} {nodelist}"},
};
constexpr std::string_view not_status[] = {"list", "drain"};
constexpr output::FormatSource status_source = {.base = "flux-resource",
                                                .table = "status.formats",
                                                .environment = "FLUX_RESOURCE_STATUS_FORMAT_DEFAULT",
                                                .builtins = status_formats,
                                                .other_keys = not_status};
constexpr std::string_view not_drain[] = {"list", "status"};
constexpr output::FormatSource drain_source = {.base = "flux-resource",
                                               .table = "drain.formats",
                                               .environment = "FLUX_RESOURCE_DRAIN_FORMAT_DEFAULT",
                                               .builtins = drain_formats,
                                               .other_keys = not_drain};

constexpr std::string_view node_fields[] = {"nnodes", "ranks", "nodelist"};
constexpr std::string_view color_fields[] = {"color_up", "color_off"};
constexpr std::string_view all_states[] = {"all",      "online",  "avail",  "offline",   "exclude",     "drain",
                                           "draining", "drained", "torpid", "allocated", "housekeeping"};

/// What the services tell of the ranks.
class Status {
public:
    Status() {}

    void fill(JsonView status, JsonView sched, JsonView jobs, JsonView config) {
        resources = decode(status.get<JsonView>("R"));
        online = status.get<Idset>("online");
        offline = status.get<Idset>("offline");
        exclude = status.get<Idset>("exclude");
        torpid = status.get_or("torpid", Idset());
        allocated = decode(sched.get<JsonView>("allocated")).ranks();
        for (auto [ranks, info] : status["drain"].members())
            drained.push_back(
                {Idset::parse(ranks), info.get_or("timestamp", 0.0), info.get_or("reason", std::string())});
        for (auto [id, job] : jobs["housekeeping"]["running"].members())
            housekeeping |= job["allocated"].try_as<Idset>().value_or(Idset());
        queues = Queues(config);
    }

    struct Drain {
        Idset ranks;
        double timestamp;
        std::string reason;
    };
    ResourceSet resources;
    Idset online, offline, exclude, torpid, allocated, housekeeping;
    std::vector<Drain> drained;
    Queues queues;
};

Task<int> fetch(Handle* handle, Status* status, bool with_config) {
    auto leader = CallOptions().rank(0);
    auto status_call = handle->call(resource_protocol::status.topic, leader);
    auto jobs_call = handle->call(job_manager_protocol::stats_get.topic, leader);
    auto sched_call = handle->call(resource_protocol::sched_status.topic, leader);
    auto told = co_await status_call;
    auto jobs = co_await jobs_call;
    auto sched = co_await sched_call;
    Json config = Json::object();
    if (with_config) {
        auto answer = co_await handle->call("config.get");
        config = answer.json().copy();
    }
    status->fill(told.json(), sched.json(), jobs.json(), config);
    co_return 0;
}

struct Line {
    std::string state; // without mark
    bool online = true;
    Idset ranks;
    double timestamp = 0;
    std::string reason;
    bool color = false;
    const ResourceSet* resources = nullptr;

    output::Value field(std::string_view name) const {
        if (name == "state") return state + (online ? "" : "*");
        if (name == "statex") return state;
        if (name == "nnodes") return static_cast<std::int64_t>(ranks.count());
        if (name == "ranks") return ranks.encode_with_brackets();
        if (name == "nodelist") return resources->copy_ranks(ranks).hosts().encode();
        if (name == "reason") return reason;
        if (name == "timestamp") return timestamp;
        if (name == "status") return std::string(online ? "online" : "offline");
        if (name == "up") return std::string(online ? "✔" : "✗");
        if (name == "up.ascii") return std::string(online ? "y" : "n");
        if (name == "color_up") return std::string(!color ? "" : online ? output::sgr::green : output::sgr::red);
        return std::string(color ? output::sgr::reset : "");
    }
};

std::optional<std::string> heading(std::string_view name) {
    if (name == "state" || name == "statex") return "STATE";
    if (name == "nnodes") return "NNODES";
    if (name == "ranks") return "RANKS";
    if (name == "nodelist") return "NODELIST";
    if (name == "reason") return "REASON";
    if (name == "timestamp") return "TIME";
    if (name == "status") return "STATUS";
    if (name == "up" || name == "up.ascii") return "UP";
    if (name == "color_up" || name == "color_off") return "";
    return std::nullopt;
}

class Lines {
public:
    Lines(const Status& status, const Idset& selected, bool color, bool with_empty)
        : status_(status), selected_(selected), color_(color), with_empty_(with_empty) {
        for (const auto& drain : status.drained) drain_ranks_ |= drain.ranks;
    }

    void add(const std::string& state) {
        const auto& s = status_;
        if (state == "all") return add_ranks(state, s.resources.ranks());
        if (state == "online") return add_ranks(state, s.online);
        if (state == "offline") return add_ranks(state, s.offline);
        if (state == "exclude") return add_ranks(state, s.exclude);
        if (state == "allocated") return add_ranks(state, s.allocated);
        if (state == "torpid") return add_ranks(state, s.torpid - (drain_ranks_ - s.allocated));
        if (state == "housekeeping") return add_ranks(state, s.housekeeping);
        if (state == "avail") return add_ranks(state, s.resources.ranks() - s.exclude - drain_ranks_ - s.torpid);
        if (state == "drained") return add_drains(state, [&](const Idset& ranks) { return ranks - s.allocated; });
        if (state == "draining") return add_drains(state, [&](const Idset& ranks) { return ranks & s.allocated; });
        add("draining"); // drain
        add("drained");
    }

    std::vector<Line> take() { return std::move(lines_); }

private:
    void add_ranks(const std::string& state, const Idset& ranks, double timestamp = 0, const std::string& reason = {}) {
        auto chosen = ranks & selected_;
        auto on = chosen - status_.offline, off = chosen & status_.offline;
        const bool offline_only = state == "offline";
        if (!on.empty() || (with_empty_ && off.empty() && !offline_only))
            lines_.push_back({state, true, on, timestamp, reason, color_, &status_.resources});
        if (!off.empty() || (with_empty_ && offline_only))
            lines_.push_back({state, false, off, timestamp, reason, color_, &status_.resources});
    }

    template <class F> void add_drains(const std::string& state, F&& part) {
        bool any = false;
        for (const auto& drain : status_.drained) {
            auto ranks = part(drain.ranks) & selected_;
            if (ranks.empty()) continue;
            add_ranks(state, ranks, drain.timestamp, drain.reason);
            any = true;
        }
        if (!any && with_empty_) add_ranks(state, Idset());
    }

    const Status& status_;
    Idset selected_;
    Idset drain_ranks_;
    bool color_;
    bool with_empty_;
    std::vector<Line> lines_;
};

int print(Context& context, const options::Parsed& parsed, const output::FormatSource& source,
          const std::vector<std::string>& states, bool with_empty) {
    auto format = choose_format(source, parsed, &heading);
    if (!format) return 0;
    const bool color = choose_color(parsed);
    if (!color) format = format->without(color_fields);
    Status status;
    context.run(&fetch, &context.handle(), &status, parsed.has("queue"));
    Lines lines(status, selected(parsed, status.queues, status.resources), color, with_empty);
    for (const auto& state : states) lines.add(state);
    auto shown =
        merge_lines(lines.take(), *format, node_fields, [](Line& into, const Line& line) { into.ranks |= line.ranks; });
    std::vector<output::Row> rows;
    for (const auto& line : shown) rows.push_back([&line](std::string_view name) { return line.field(name); });
    print_listing(*format, rows, !parsed.has("no-header"));
    return 0;
}

} // namespace

int run_status(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto states = parsed.list("states");
    if (std::find(states.begin(), states.end(), "help") != states.end()) {
        std::string names;
        for (auto name : all_states) names.append(names.empty() ? "" : ",").append(name);
        fmt::print("valid states: {}\n", names);
        return 0;
    }
    for (const auto& state : states)
        if (std::find(std::begin(all_states), std::end(all_states), state) == std::end(all_states))
            throw Error(EINVAL, "Invalid resource state " + state + " specified");
    const bool with_empty = !states.empty() && !parsed.has("skip-empty") && !parsed.has("include");
    if (states.empty()) states = {"avail", "exclude", "draining", "drained", "torpid", "housekeeping"};
    return print(context, parsed, status_source, states, with_empty);
}

int run_drain_list(Context& context, const options::Parsed& parsed) {
    return print(context, parsed, drain_source, {"draining", "drained"}, false);
}

} // namespace flux::cmd::resource
