#include "filter.hpp"

#include <flux/hostlist.hpp>
#include <flux/idset.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <unordered_set>
#include <vector>

namespace flux::job_list {

using Verdict = Filter::Verdict;

/// Counts down what a request may cost.
class Budget {
public:
    explicit Budget(std::size_t& left) noexcept : left_(left) {}
    void spend(std::size_t comparisons) {
        if (left_ < comparisons) throw Error(EINVAL, "Excessive comparisons made, limit search via states or since");
        left_ -= comparisons;
    }

private:
    std::size_t& left_;
};

struct Filter::Node {
    virtual ~Node() = default;
    virtual bool matches(const Job& job, Budget& budget) const = 0;
    virtual Verdict verdict(int states) const { return (void)states, Verdict::maybe; }
};

namespace {

using Node = Filter::Node;
using NodePtr = std::unique_ptr<Node>;

// Constraints come from users: deeper ones than this are nonsense.
constexpr int max_depth = 100;
constexpr int state_inactive = static_cast<int>(JobState::inactive);

[[noreturn]] void fail(const std::string& text) { throw Error(EPROTO, text); }

std::string_view text_value(JsonView value, std::string_view op) {
    auto text = value.try_as<std::string_view>();
    if (!text) fail(fmt::format("{} value must be a string", op));
    return *text;
}

struct UserNode final : Node {
    explicit UserNode(JsonView values) {
        for (auto value : values.elements()) {
            auto id = value.try_as<std::int64_t>();
            if (!id) fail("userid value must be an integer");
            any = any || *id == -1 || *id == UINT32_MAX;
            users.insert(static_cast<std::uint32_t>(*id));
        }
    }
    bool matches(const Job& job, Budget&) const override { return any || users.contains(job.userid); }
    Verdict verdict(int) const override { return any ? Verdict::always : Verdict::maybe; }
    std::unordered_set<std::uint32_t> users;
    bool any = false;
};

struct NameNode final : Node {
    explicit NameNode(JsonView values) {
        for (auto value : values.elements()) names.emplace(text_value(value, "name"));
    }
    bool matches(const Job& job, Budget&) const override { return names.contains(std::string(job.name.view())); }
    std::unordered_set<std::string> names;
};

struct QueueNode final : Node {
    QueueNode(JsonView values, const FilterRules& rules) {
        for (auto value : values.elements()) {
            std::string name(text_value(value, "queue"));
            for (const auto& [queue, parent] : rules.parents)
                if (parent == name) names.insert(queue);
            names.insert(std::move(name));
        }
    }
    bool matches(const Job& job, Budget&) const override { return names.contains(std::string(job.queue.view())); }
    std::unordered_set<std::string> names;
};

struct StatesNode final : Node {
    explicit StatesNode(JsonView values) {
        for (auto value : values.elements()) {
            if (auto bits = value.try_as<int>()) {
                if (*bits < 0 || (*bits & ~job_states_all))
                    fail(fmt::format("invalid states value '{:x}' specified", *bits));
                mask |= *bits;
            } else if (auto bits = parse_job_state(text_value(value, "states"))) {
                mask |= *bits;
            } else {
                fail(fmt::format("invalid states value '{}' specified", value.as<std::string>()));
            }
        }
        if (mask == 0) mask = job_states_all;
    }
    bool matches(const Job& job, Budget&) const override { return job.in(mask); }
    Verdict verdict(int states) const override {
        if (!(states & mask)) return Verdict::never;
        return (states & ~mask) ? Verdict::maybe : Verdict::always;
    }
    int mask = 0;
};

struct ResultsNode final : Node {
    static constexpr int all = 15;
    explicit ResultsNode(JsonView values) {
        for (auto value : values.elements()) {
            if (auto bits = value.try_as<int>()) {
                if (*bits < 0 || (*bits & ~all)) fail(fmt::format("invalid results value '{:x}' specified", *bits));
                mask |= *bits;
            } else if (auto result = parse_job_result(text_value(value, "results"))) {
                mask |= static_cast<int>(*result);
            } else {
                fail(fmt::format("invalid results value '{}' specified", value.as<std::string>()));
            }
        }
        if (mask == 0) mask = all;
    }
    bool matches(const Job& job, Budget&) const override {
        return job.state == JobState::inactive && (static_cast<int>(job.result) & mask);
    }
    Verdict verdict(int states) const override { return states & state_inactive ? Verdict::maybe : Verdict::never; }
    int mask = 0;
};

struct HostsNode final : Node {
    HostsNode(JsonView values, const FilterRules& rules) {
        std::size_t count = 0;
        for (auto value : values.elements()) {
            auto text = text_value(value, "hostlist");
            auto hosts = Hostlist::try_parse(text);
            if (!hosts) fail(fmt::format("invalid hostlist '{}' specified", text));
            count += hosts->size();
            if (count > rules.max_hosts)
                fail(fmt::format("too many hosts specified: {} at most are allowed", rules.max_hosts));
            for (auto host : *hosts) names.insert(std::move(host));
        }
    }
    bool matches(const Job& job, Budget& budget) const override {
        if (!job.nodelist) return false;
        auto hosts = Hostlist::parse(job.nodelist.view());
        budget.spend(hosts.size());
        return std::any_of(hosts.begin(), hosts.end(),
                           [this](const std::string& host) { return names.contains(host); });
    }
    std::unordered_set<std::string> names;
};

struct RanksNode final : Node {
    explicit RanksNode(JsonView values) {
        for (auto value : values.elements()) {
            auto text = text_value(value, "ranks");
            auto ids = Idset::try_parse(text);
            if (!ids) fail(fmt::format("invalid idset '{}' specified", text));
            ranks |= *ids;
        }
    }
    bool matches(const Job& job, Budget& budget) const override {
        if (!job.ranks) return false;
        auto mine = Idset::parse(job.ranks.view());
        budget.spend(mine.ranges().size());
        return mine.intersects(ranks);
    }
    Idset ranks;
};

struct TimeNode final : Node {
    TimeNode(JsonView values, std::string_view op, Job::Time time) : time(time) {
        if (values.size() != 1) fail(fmt::format("{} takes one value", op));
        std::string text(text_value(values[std::size_t(0)], op));
        auto digits = text.find_first_not_of("<>=");
        auto sign = text.substr(0, digits);
        if (sign != "<" && sign != ">" && sign != "<=" && sign != ">=")
            fail(fmt::format("{}: '{}' does not begin with a comparison operator", op, text));
        less = sign[0] == '<';
        equal = sign.size() == 2;
        const char* number = text.c_str() + sign.size();
        char* end = nullptr;
        limit = std::strtod(number, &end);
        if (end == number || *end != '\0') fail(fmt::format("{}: invalid time '{}'", op, number));
    }
    bool matches(const Job& job, Budget&) const override {
        auto value = job.times[time];
        if (value == 0) return false;
        return (equal && value == limit) || (less ? value < limit : value > limit);
    }
    Job::Time time;
    bool less = false;
    bool equal = false;
    double limit = 0;
};

struct AndNode final : Node {
    bool matches(const Job& job, Budget& budget) const override {
        return std::all_of(parts.begin(), parts.end(), [&](const NodePtr& part) { return part->matches(job, budget); });
    }
    Verdict verdict(int states) const override {
        auto result = Verdict::always;
        for (const auto& part : parts) result = std::min(result, part->verdict(states));
        return result;
    }
    std::vector<NodePtr> parts;
};

struct OrNode final : Node {
    bool matches(const Job& job, Budget& budget) const override {
        return parts.empty() ||
               std::any_of(parts.begin(), parts.end(), [&](const NodePtr& part) { return part->matches(job, budget); });
    }
    Verdict verdict(int states) const override {
        if (parts.empty()) return Verdict::always;
        auto result = Verdict::never;
        for (const auto& part : parts) result = std::max(result, part->verdict(states));
        return result;
    }
    std::vector<NodePtr> parts;
};

struct NotNode final : Node {
    explicit NotNode(AndNode all) : all(std::move(all)) {}
    bool matches(const Job& job, Budget& budget) const override { return !all.matches(job, budget); }
    Verdict verdict(int states) const override {
        switch (all.verdict(states)) {
        case Verdict::never: return Verdict::always;
        case Verdict::always: return Verdict::never;
        case Verdict::maybe: break;
        }
        return Verdict::maybe;
    }
    AndNode all;
};

class Compiler {
public:
    explicit Compiler(const FilterRules& rules) : rules_(rules) {}

    NodePtr compile(JsonView constraint, int depth) const {
        if (depth > max_depth) fail("constraint is nested too deeply");
        if (!constraint.is_object()) fail("constraint must be JSON object");
        if (constraint.empty()) return std::make_unique<AndNode>();
        if (constraint.size() > 1) fail("constraint must only contain 1 element");
        auto [op, values] = *constraint.members().begin();
        if (!values.is_array()) fail(fmt::format("operator {} values not an array", op));
        if (op == "userid") return std::make_unique<UserNode>(values);
        if (op == "name") return std::make_unique<NameNode>(values);
        if (op == "queue") return std::make_unique<QueueNode>(values, rules_);
        if (op == "states") return std::make_unique<StatesNode>(values);
        if (op == "results") return std::make_unique<ResultsNode>(values);
        if (op == "hostlist") return std::make_unique<HostsNode>(values, rules_);
        if (op == "ranks") return std::make_unique<RanksNode>(values);
        if (auto time = time_of(op)) return std::make_unique<TimeNode>(values, op, *time);
        if (op == "and") {
            auto node = std::make_unique<AndNode>();
            node->parts = parts(values, depth);
            return node;
        }
        if (op == "or") {
            auto node = std::make_unique<OrNode>();
            node->parts = parts(values, depth);
            return node;
        }
        if (op == "not") {
            AndNode all;
            all.parts = parts(values, depth);
            return std::make_unique<NotNode>(std::move(all));
        }
        fail(fmt::format("unknown constraint operator: {}", op));
    }

private:
    std::vector<NodePtr> parts(JsonView values, int depth) const {
        std::vector<NodePtr> result;
        for (auto value : values.elements()) result.push_back(compile(value, depth + 1));
        return result;
    }

    static std::optional<Job::Time> time_of(std::string_view op) {
        static constexpr std::pair<std::string_view, Job::Time> names[] = {
            {"t_submit", Job::submit},    {"t_depend", Job::depend}, {"t_priority", Job::priority_},
            {"t_sched", Job::sched},      {"t_run", Job::run},       {"t_cleanup", Job::cleanup},
            {"t_inactive", Job::inactive}};
        for (auto [name, time] : names)
            if (name == op) return time;
        return std::nullopt;
    }

    const FilterRules& rules_;
};

} // namespace

Filter::Filter(JsonView constraint, const FilterRules& rules)
    : root_(Compiler(rules).compile(constraint, 0)),
      comparisons_left_(rules.max_comparisons > 0 ? rules.max_comparisons : SIZE_MAX) {}
Filter::Filter() : root_(std::make_unique<AndNode>()), comparisons_left_(0) {}
Filter::~Filter() = default;
Filter::Filter(Filter&&) noexcept = default;

Filter::Verdict Filter::verdict(int states) const { return root_->verdict(states); }

bool Filter::matches(const Job& job) {
    Budget budget(comparisons_left_);
    return root_->matches(job, budget);
}

} // namespace flux::job_list
