#include "cmd/queue_list.hpp"

#include "cmd/formats.hpp"
#include "cmd/inventory/inventory.hpp"
#include "cmd/output/color.hpp"

#include <flux/duration.hpp>
#include <flux/job_manager_protocol.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <limits>

namespace flux::cmd {
namespace {

constexpr std::string_view default_format =
    "?:{queuem:<8.8} ?:{parent:<8.8} {color_enabled}{enabled:>2}{color_off} {color_started}{started:>2}{color_off} "
    "{defaults.timelimit!F:>8} {limits.timelimit!F:>8} {limits.range.effective.nnodes:>10} "
    "{limits.range.effective.ncores:>10} {limits.range.effective.ngpus:>10}";
constexpr std::string_view policy_format =
    "?:{queuem:<8.8} ?:{parent:<8.8} {color_enabled}{enabled:>2}{color_off} {color_started}{started:>2}{color_off} "
    "{defaults.timelimit!F:>8} {limits.timelimit!F:>8} {limits.range.nnodes:>10} {limits.range.ncores:>10} "
    "{limits.range.ngpus:>10}";
constexpr std::string_view nodes_format =
    "?:{queuem:<8.8} ?:{parent:<8.8} {color_enabled}{enabled:>2}{color_off} {color_started}{started:>2}{color_off} "
    "{resources.all.nnodes:>6} {resources.up.nnodes:>10} {resources.down.nnodes:>10} "
    "{resources.allocated.nnodes:>11} {resources.free.nnodes:>10}";
constexpr output::NamedFormat formats[] = {
    {"default", "Default flux-queue list format string", default_format},
    {"policy", "Show the limits as they are configured", policy_format},
    {"nodes", "Show the nodes of queues by state", nodes_format},
};
constexpr output::FormatSource format_source = {.base = "flux-queue",
                                                .table = "list.formats",
                                                .environment = "FLUX_QUEUE_LIST_FORMAT_DEFAULT",
                                                .builtins = formats};

constexpr std::string_view quantities[] = {"nnodes", "ncores", "ngpus"};
constexpr std::string_view states[] = {"all", "free", "allocated", "up", "down"};

bool is_quantity(std::string_view name) {
    return std::find(std::begin(quantities), std::end(quantities), name) != std::end(quantities);
}

std::string upper(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return result;
}

/// `nnodes` as NODES.
std::string plural(std::string_view quantity) { return upper(quantity.substr(1)); }

/// One queue: its status, its part of the configuration and of the resources.
class Queue {
public:
    Queue(std::string name, JsonView status, const inventory::Inventory& all)
        : name_(std::move(name)), status_(status.copy()), inventory_(all.copy()) {
        if (!name_.empty()) inventory_.restrict(all.queues().ranks(name_, all.of("all")));
        if (!name_.empty()) config_ = inventory_.config()["queues"][name_];
    }

    output::Value field(std::string_view name) const {
        const bool enabled = status_.get<bool>("enable"), started = status_.get<bool>("start");
        const bool by_parent = status_.get_or("blocked", std::string()) == "parent";
        if (name == "queue") return name_;
        if (name == "queuem") return name_ + (is_default() ? "*" : "");
        if (name == "parent") return status_.get_or("parent", std::string());
        if (name == "submission") return std::string(enabled ? "enabled" : "disabled");
        if (name == "scheduling") return std::string(started ? "started" : by_parent ? "stopped (parent)" : "stopped");
        if (name == "enabled") return std::string(enabled ? "✔" : "✗");
        if (name == "enabled.ascii") return std::string(enabled ? "y" : "n");
        if (name == "started") return std::string(started ? "✔" : by_parent ? "⏸" : "✗");
        if (name == "started.ascii") return std::string(started ? "y" : by_parent ? "p" : "n");
        if (name == "color_enabled") return std::string(enabled ? output::sgr::green : output::sgr::red);
        if (name == "color_started")
            return std::string(started ? output::sgr::green : by_parent ? output::sgr::yellow : output::sgr::red);
        if (name == "color_off") return std::string(output::sgr::reset);
        if (name == "defaults.timelimit") return time("jobspec.defaults.system.duration");
        if (name == "limits.timelimit") return time("limits.duration");
        auto quantity = name.substr(name.rfind('.') + 1);
        if (name.starts_with("resources.")) return count(name.substr(10, name.rfind('.') - 10), quantity);
        if (name.starts_with("limits.min.")) return text(limit("min", quantity, 0));
        if (name.starts_with("limits.max.")) return text(limit("max", quantity, infinity));
        const bool effective = name.starts_with("limits.range.effective.");
        auto most = limit("max", quantity, infinity);
        if (effective) most = std::min(most, static_cast<double>(count("all", quantity)));
        return text(limit("min", quantity, 0)) + "-" + text(most);
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    bool is_default() const {
        auto name = inventory_.config().find("policy.jobspec.defaults.system.queue").try_as<std::string>();
        return !name_.empty() && name == name_;
    }

    /// A value of the queue's policy, else of the general one.
    JsonView policy(const std::string& path) const {
        if (auto own = config_.find("policy." + path)) return own;
        return inventory_.config().find("policy." + path);
    }

    double time(const std::string& path) const {
        auto value = policy(path);
        if (auto text = value.try_as<std::string>()) return parse_duration(*text);
        return value.try_as<double>().value_or(infinity);
    }

    double limit(const char* which, std::string_view quantity, double fallback) const {
        auto value = policy("limits.job-size." + std::string(which) + "." + std::string(quantity)).try_as<double>();
        if (!value) return fallback;
        return *value < 0 ? infinity : *value; // -1: no limit
    }

    std::int64_t count(std::string_view state, std::string_view quantity) const {
        const auto& set = inventory_.of(std::string(state));
        auto type = quantity == "nnodes" ? "node" : quantity == "ncores" ? "core" : "gpu";
        return static_cast<std::int64_t>(set.count(type));
    }

    static std::string text(double number) {
        return std::isinf(number) ? "inf" : std::to_string(static_cast<std::int64_t>(number));
    }

    std::string name_;
    Json status_;
    inventory::Inventory inventory_;
    JsonView config_;
};

std::optional<std::string> heading(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 14> plain = {{
        {"queue", "QUEUE"},
        {"queuem", "QUEUE"},
        {"parent", "PARENT"},
        {"submission", "SUBMIT"},
        {"scheduling", "SCHED"},
        {"enabled", "EN"},
        {"enabled.ascii", "EN"},
        {"started", "ST"},
        {"started.ascii", "ST"},
        {"color_enabled", ""},
        {"color_started", ""},
        {"color_off", ""},
        {"defaults.timelimit", "TDEFAULT"},
        {"limits.timelimit", "TLIMIT"},
    }};
    for (const auto& [field, text] : plain)
        if (field == name) return std::string(text);
    auto dot = name.rfind('.');
    if (dot == name.npos || !is_quantity(name.substr(dot + 1))) return std::nullopt;
    auto quantity = name.substr(dot + 1), group = name.substr(0, dot);
    if (group == "limits.range" || group == "limits.range.effective") return upper(quantity);
    if (group == "limits.min") return "MIN" + plural(quantity);
    if (group == "limits.max") return "MAX" + plural(quantity);
    for (auto state : states) {
        if (group != "resources." + std::string(state)) continue;
        if (state == "all") return plural(quantity);
        return plural(quantity) + ":" + (state == "allocated" ? "ALLOC" : upper(state));
    }
    return std::nullopt;
}

Task<int> list(Handle* handle, const options::Parsed* parsed, const output::Format* format) {
    inventory::Inventory inventory;
    co_await inventory::fetch_inventory(handle, &inventory);
    auto names = inventory.queues().names();
    auto wanted = parsed->list("queue");
    for (const auto& name : wanted)
        if (!inventory.queues().contains(name)) throw Error(EINVAL, "No such queue: " + name);
    if (!wanted.empty()) names = wanted;
    if (names.empty()) names.push_back("");
    std::vector<Call> calls;
    for (const auto& name : names) {
        auto payload = Json::object();
        if (!name.empty()) payload.set("name", name);
        calls.push_back(handle->call(job_manager_protocol::queue_status.topic, std::move(payload)));
    }
    std::vector<Queue> queues;
    for (std::size_t index = 0; index < names.size(); ++index) {
        auto status = co_await calls[index];
        queues.emplace_back(names[index], status.json(), inventory);
    }
    std::vector<output::Row> rows;
    for (const auto& queue : queues) rows.push_back([&queue](std::string_view name) { return queue.field(name); });
    print_listing(*format, rows, !parsed->has("no-header"));
    co_return 0;
}

} // namespace

int run_queue_list(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto format = choose_format(format_source, parsed, &heading);
    if (!format) return 0;
    return context.run(&list, &context.handle(), &parsed, &*format);
}

} // namespace flux::cmd
