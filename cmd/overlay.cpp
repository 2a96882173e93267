// flux overlay: the tree of brokers (cli.md 6.31).
#include "cmd/output/color.hpp"
#include "cmd/trace.hpp"

#include <flux/duration.hpp>
#include <flux/hostlist.hpp>
#include <flux/idset.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <map>

namespace flux::cmd {
namespace {

constexpr double usual_timeout = 0.5;

Task<Hostlist> hosts_of(Handle* handle) {
    auto text = co_await handle->get_attr("hostlist");
    co_return Hostlist::parse(text.value_or(""));
}

/// Ranks of an idset or of host names. \throws Error ENOENT for an unknown host
Idset ranks_of(const std::string& target, const Hostlist& hosts) {
    if (auto ranks = Idset::try_parse(target)) return *ranks;
    Idset ranks;
    for (auto host : Hostlist::parse(target)) {
        auto rank = hosts.find(host);
        if (!rank) throw Error(ENOENT, "host " + host + " not found in host map");
        ranks.set(static_cast<Idset::Id>(*rank));
    }
    return ranks;
}

std::chrono::nanoseconds to_time(double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

/// The tree as it is configured.
class Tree {
public:
    Tree() {}
    explicit Tree(JsonView topology) { add(topology); }

    const std::vector<std::uint32_t>& children(std::uint32_t rank) const {
        static const std::vector<std::uint32_t> none;
        auto found = children_.find(rank);
        return found == children_.end() ? none : found->second;
    }
    std::optional<std::uint32_t> parent(std::uint32_t rank) const {
        for (const auto& [above, below] : children_)
            if (std::find(below.begin(), below.end(), rank) != below.end()) return above;
        return std::nullopt;
    }

private:
    void add(JsonView node) {
        auto rank = node.get<std::uint32_t>("rank");
        for (auto child : node["children"].elements()) {
            children_[rank].push_back(child.get<std::uint32_t>("rank"));
            add(child);
        }
    }

    std::map<std::uint32_t, std::vector<std::uint32_t>> children_;
};

Task<Tree> tree_below(Handle* handle, std::uint32_t rank) {
    auto options = CallOptions().rank(rank);
    auto answer = co_await handle->call("overlay.topology", Json::object("rank", rank), options);
    co_return Tree(answer.json());
}

/// What is told of one broker.
class Node {
public:
    Node() {}
    explicit Node(JsonView json)
        : rank(json.get<std::uint32_t>("rank")),
          status(json.get<std::string>("status")),
          duration(json.get_or("duration", -1.0)),
          error(json.get_or("error", std::string())) {}
    Node(std::uint32_t rank, std::string status) : rank(rank), status(std::move(status)) {}

    bool reachable() const { return status != "offline" && status != "lost"; }

    std::uint32_t rank = 0;
    std::string status;
    double duration = -1;
    std::string error;
    double milliseconds = -1; ///< that its answer took
};

/// Visits the brokers below one, from the top down.
class Walk {
public:
    Walk(Handle& handle, double timeout, bool ghosts) : handle_(handle), timeout_(timeout), ghosts_(ghosts) {}
    virtual ~Walk() = default;

    Task<> from(std::uint32_t rank) {
        hosts_ = co_await hosts_of(&handle_);
        tree_ = co_await tree_below(&handle_, rank);
        auto answer = co_await ask(rank);
        Node top(answer.json());
        top.milliseconds = last_milliseconds_;
        visit(top, "", "");
        co_await below(answer.json(), "");
    }

protected:
    virtual void visit(const Node& node, const std::string& prefix, const std::string& connector) = 0;
    std::string host(std::uint32_t rank) const { return rank < hosts_.size() ? hosts_.at(rank) : "unknown"; }

private:
    Task<Message> ask(std::uint32_t rank) {
        auto options = CallOptions().rank(rank);
        if (timeout_ > 0) options.deadline(to_time(timeout_));
        auto begin = std::chrono::steady_clock::now();
        auto answer = co_await handle_.call("overlay.health", options);
        last_milliseconds_ =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        co_return std::move(answer);
    }

    Task<> below(JsonView health, std::string prefix) {
        auto children = health["children"];
        for (std::size_t index = 0; index < children.size(); ++index) {
            const bool last = index + 1 == children.size();
            Node node(children[index]);
            const std::string connector = last ? "└─ " : "├─ ";
            const std::string deeper = prefix + (last ? "   " : "│  ");
            if (!node.reachable() || tree_.children(node.rank).empty()) {
                visit(node, prefix, connector);
                if (!node.reachable() && ghosts_) ghosts(node, deeper);
                continue;
            }
            std::optional<Message> answer;
            try {
                answer = co_await ask(node.rank);
                node.milliseconds = last_milliseconds_;
            } catch (const Cancelled&) {
                throw;
            } catch (const Error& error) {
                node.error = error.what();
            }
            visit(node, prefix, connector);
            if (answer) co_await below(answer->json(), deeper);
        }
    }

    /// Brokers that nobody can ask, below one that is gone.
    void ghosts(const Node& gone, const std::string& prefix) {
        const auto& children = tree_.children(gone.rank);
        for (auto rank : children) {
            const bool last = rank == children.back();
            Node node(rank, gone.status);
            visit(node, prefix, last ? "└─ " : "├─ ");
            ghosts(node, prefix + (last ? "   " : "│  "));
        }
    }

    Handle& handle_;
    double timeout_;
    bool ghosts_;
    Hostlist hosts_;
    Tree tree_;
    double last_milliseconds_ = -1;
};

class StatusWalk final : public Walk {
public:
    StatusWalk(Handle& handle, const options::Parsed& parsed, double timeout)
        : Walk(handle, timeout, !parsed.has("no-ghost")),
          verbosity_(parsed.level("verbose")),
          pretty_(!parsed.has("no-pretty")),
          only_down_(parsed.has("down")),
          color_(choose_color(parsed)),
          highlight_(parsed.get("highlight")) {}

private:
    void visit(const Node& node, const std::string& prefix, const std::string& connector) override {
        if (only_down_ && node.status == "full" && node.error.empty()) return;
        auto label = fmt::format("{} {}", node.rank, host(node.rank));
        if (highlighted(node)) label = color_ ? painted(output::sgr::blue, label) : "<<" + label + ">>";
        std::string line = pretty_ ? prefix + connector + label : label;
        line += ": " + painted(color_of(node.status), node.status);
        if (verbosity_ > 0 && node.duration >= 0) line += " for " + format_duration(node.duration, 4);
        if (verbosity_ > 1 && node.milliseconds >= 0) line += fmt::format(" ({:.3f} ms)", node.milliseconds);
        if (!node.error.empty()) line += " " + node.error;
        fmt::print("{}\n", line);
    }

    bool highlighted(const Node& node) const {
        if (highlight_.empty()) return false;
        if (auto ranks = Idset::try_parse(highlight_)) return ranks->test(node.rank);
        return Hostlist::parse(highlight_).contains(host(node.rank));
    }

    static std::string_view color_of(std::string_view status) {
        if (status == "full") return {};
        return status == "partial" ? output::sgr::blue : status == "degraded" ? output::sgr::yellow : output::sgr::red;
    }

    std::string painted(std::string_view color, const std::string& text) const {
        if (!color_ || color.empty()) return text;
        return fmt::format("{}{}{}", color, text, output::sgr::plain_reset);
    }

    unsigned verbosity_;
    bool pretty_;
    bool only_down_;
    bool color_;
    std::string highlight_;
};

/// Collects why brokers are gone.
class ErrorWalk final : public Walk {
public:
    ErrorWalk(Handle& handle, double timeout) : Walk(handle, timeout, true) {}
    void print() const {
        for (const auto& [text, hosts] : hosts_by_error_) fmt::print("{}: {}\n", hosts.encode(), text);
    }

private:
    void visit(const Node& node, const std::string&, const std::string&) override {
        // What is below a broker that was lost has no error of its own.
        auto error = node.error.empty() && node.status == "lost" ? "lost parent" : node.error;
        if (!error.empty()) hosts_by_error_[error].push_back(host(node.rank));
    }
    std::map<std::string, Hostlist> hosts_by_error_;
};

double timeout_of(const options::Parsed& parsed) {
    auto text = parsed.find("timeout");
    return text ? parse_duration(*text) : usual_timeout;
}

Task<int> wait_for_status(Handle* handle, std::uint32_t rank, std::string wanted) {
    constexpr std::string_view known[] = {"full", "partial", "offline", "degraded", "lost"};
    if (std::find(std::begin(known), std::end(known), wanted) == std::end(known))
        throw Error(EINVAL, "invalid --wait state '" + wanted + "'");
    auto options = CallOptions().rank(rank);
    auto health = handle->stream("overlay.health", Payload(), options);
    while (auto answer = co_await health.next())
        if (answer->json().get<std::string_view>("status") == wanted) break;
    co_return 0;
}

Task<int> status(Handle* handle, const options::Parsed* parsed) {
    const auto rank = parsed->number<std::uint32_t>("rank", 0);
    if (auto wanted = parsed->find("wait")) co_await wait_for_status(handle, rank, std::string(*wanted));
    if (parsed->has("summary")) {
        auto options = CallOptions().rank(rank);
        auto answer = co_await handle->call("overlay.health", options);
        fmt::print("{}\n", answer.json().get<std::string_view>("status"));
        co_return 0;
    }
    StatusWalk walk(*handle, *parsed, timeout_of(*parsed));
    co_await walk.from(rank);
    co_return 0;
}

Task<int> errors(Handle* handle, double timeout) {
    ErrorWalk walk(*handle, timeout);
    co_await walk.from(0);
    walk.print();
    co_return 0;
}

Task<int> lookup(Handle* handle, std::string target) {
    auto hosts = co_await hosts_of(handle);
    auto ranks = Idset::try_parse(target);
    if (!ranks) {
        fmt::print("{}\n", ranks_of(target, hosts).encode());
        co_return 0;
    }
    Hostlist names;
    for (auto rank : *ranks) {
        if (rank >= hosts.size()) throw Error(ENOENT, fmt::format("rank {} is not in host map", rank));
        names.push_back(hosts.at(rank));
    }
    fmt::print("{}\n", names.encode());
    co_return 0;
}

Task<std::uint32_t> find_parent(Handle* handle, std::uint32_t rank) {
    auto tree = co_await tree_below(handle, 0);
    if (rank == 0) throw Error(EINVAL, "0 has no parent");
    auto parent = tree.parent(rank);
    if (!parent) throw Error(ENOENT, fmt::format("{} is not a valid rank in this instance", rank));
    co_return *parent;
}

Task<int> parent_of(Handle* handle, std::uint32_t rank) {
    auto parent = co_await find_parent(handle, rank);
    fmt::print("{}\n", parent);
    co_return 0;
}

Task<int> disconnect(Handle* handle, const options::Parsed* parsed) {
    auto hosts = co_await hosts_of(handle);
    auto ranks = ranks_of(parsed->operands()[0], hosts);
    if (ranks.count() != 1) throw Error(EINVAL, "TARGET must be a valid rank or hostname");
    const auto rank = *ranks.first();
    auto parent = parsed->number<std::uint32_t>("parent", 0);
    if (!parsed->has("parent")) parent = co_await find_parent(handle, rank);
    fmt::print(stderr, "flux-overlay: asking {} (rank {}) to disconnect child {} (rank {})\n",
               parent < hosts.size() ? hosts.at(parent) : "unknown", parent,
               rank < hosts.size() ? hosts.at(rank) : "unknown", rank);
    auto options = CallOptions().rank(parent);
    co_await handle->call("overlay.disconnect-subtree", Json::object("rank", rank), options);
    co_return 0;
}

int run_trace_command(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    Trace trace("overlay.trace", parsed, parsed.operands().empty() ? "*" : parsed.operands()[0]);
    trace.payload.set("nodeid", parsed.number<int>("rank", -1));
    auto who = [](JsonView record) {
        auto rank = record.get_or("rank", -1);
        return fmt::format("{} {}", record.get<std::string_view>("prefix"), rank < 0 ? "*" : std::to_string(rank));
    };
    return context.run(&run_trace, &context.handle(), &trace, static_cast<std::string (*)(JsonView)>(who));
}

int run_status(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&status, &context.handle(), &parsed);
}

int run_errors(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&errors, &context.handle(), timeout_of(parsed));
}

int run_lookup(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    return context.run(&lookup, &context.handle(), parsed.operands()[0]);
}

int run_parentof(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    auto rank = parse_integer<std::uint32_t>(parsed.operands()[0]);
    if (!rank) throw Error(EINVAL, "'" + parsed.operands()[0] + "' is no rank");
    return context.run(&parent_of, &context.handle(), *rank);
}

int run_disconnect(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    return context.run(&disconnect, &context.handle(), &parsed);
}

using options::Value;
constexpr options::Option timeout_option[] = {
    {.name = "timeout",
     .key = 't',
     .value = Value::required,
     .argument = "FSD",
     .help = "Set RPC timeout, 0=disable (default 0.5s)"},
};
constexpr options::Option status_only[] = {
    {.name = "rank",
     .key = 'r',
     .value = Value::required,
     .argument = "NODEID",
     .help = "Check health of subtree rooted at NODEID (default 0)"},
    {.name = "verbose",
     .key = 'v',
     .value = Value::optional,
     .argument = "LEVEL",
     .help = "Increase reporting detail: 1=show time since current state was entered, 2=show round-trip RPC times."},
    {.name = "summary", .help = "Show only the root subtree status."},
    {.name = "down", .help = "Show only the partial/degraded subtrees."},
    {.name = "no-pretty",
     .help = "Do not indent entries and use line drawing characters to show overlay tree structure"},
    {.name = "no-ghost",
     .help = "Do not fill in presumed state of nodes that are inaccessible behind offline/lost overlay parents"},
    color_row(),
    {.name = "highlight",
     .key = 'H',
     .value = Value::required,
     .argument = "TARGET",
     .help = "Highlight one or more TARGETs and their ancestors."},
    {.name = "wait",
     .key = 'w',
     .value = Value::required,
     .argument = "STATE",
     .help = "Wait until subtree enters STATE before reporting (full, partial, offline, degraded, lost)"},
};
constexpr options::Option disconnect_options[] = {
    {.name = "parent",
     .key = 'r',
     .value = Value::required,
     .argument = "NODEID",
     .help = "Set parent rank to NODEID (default: determine from topology)"},
};
constexpr options::Option trace_only[] = {
    {.name = "rank", .key = 'r', .value = Value::required, .argument = "NODEID", .help = "Filter output by peer rank"},
};
constexpr auto overlay_trace_options = options::join(trace_options, trace_only);
static_assert(options::consistent(overlay_trace_options));
constexpr auto status_options = options::join(timeout_option, status_only);
static_assert(options::consistent(status_options));
constexpr options::Command subcommands[] = {
    {.name = "errors",
     .synopsis = "[OPTIONS]",
     .help = "Summarize overlay errors",
     .options = timeout_option,
     .run = &run_errors},
    {.name = "status",
     .synopsis = "[OPTIONS]",
     .help = "Display overlay subtree health status",
     .options = status_options,
     .run = &run_status},
    {.name = "lookup",
     .synopsis = "TARGET",
     .help = "translate rank idset to hostlist or the reverse",
     .run = &run_lookup},
    {.name = "parentof", .synopsis = "RANK", .help = "show the parent of RANK", .run = &run_parentof},
    {.name = "disconnect",
     .synopsis = "[--parent=NODEID] TARGET",
     .help = "disconnect a subtree rooted at TARGET (hostname or rank)",
     .options = disconnect_options,
     .run = &run_disconnect},
    {.name = "trace",
     .synopsis = "[OPTIONS] [TOPIC-GLOB]",
     .help = "trace overlay messages",
     .options = overlay_trace_options,
     .run = &run_trace_command},
};

} // namespace

extern const options::Command cmd_overlay;
const options::Command cmd_overlay{.name = "overlay",
                                   .program = "flux-overlay",
                                   .synopsis = "COMMAND [OPTIONS]",
                                   .help = "Show and change the tree of brokers",
                                   .subcommands = subcommands};

} // namespace flux::cmd
