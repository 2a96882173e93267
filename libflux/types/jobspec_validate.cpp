// The rules of the `jobspec` validator, in the order in which it reports them.
#include <flux/constraint.hpp>
#include <flux/jobspec.hpp>

#include <cerrno>
#include <initializer_list>

namespace flux {
namespace {

constexpr unsigned max_depth = 100;

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, text); }

using Keys = std::initializer_list<std::string_view>;

void require_keys(JsonView object, Keys keys) {
    for (auto key : keys)
        if (!object.contains(key)) fail("Missing key (" + std::string(key) + ")");
}

void refuse_other_keys(JsonView object, Keys keys) {
    for (auto [key, value] : object.members()) {
        bool known = false;
        for (auto allowed : keys) known = known || key == allowed;
        if (!known) fail("Extraneous key (" + std::string(key) + ")");
    }
}

class Validator {
public:
    explicit Validator(const JobspecRules& rules) : rules_(rules) {}

    void run(JsonView jobspec) {
        if (!jobspec.is_object()) fail("jobspec must be a mapping");
        require_keys(jobspec, {"version", "resources", "tasks", "attributes"});
        refuse_other_keys(jobspec, {"version", "resources", "tasks", "attributes"});
        version(jobspec["version"]);
        vertices(jobspec["resources"], "resources", 0);
        tasks(jobspec["tasks"]);
        attributes(jobspec["attributes"]);
    }

private:
    void version(JsonView value) {
        if (!value.is_integer()) fail("version must be an integer");
        integer_counts_ = value.as<std::int64_t>() == 1;
        if (rules_.version && value.as<std::int64_t>() != *rules_.version)
            fail("version must be " + std::to_string(*rules_.version) + ", got " + value.dump());
    }

    void vertices(JsonView list, const char* what, unsigned depth) {
        if (!list.is_array() || list.empty()) fail(std::string(what) + " must be a non-empty list");
        if (depth > max_depth) fail("resources are nested too deeply");
        if (integer_counts_ && depth == 0 && list.size() != 1) fail("resources must have exactly one element");
        for (auto vertex : list.elements()) resource(vertex, depth);
    }

    void resource(JsonView vertex, unsigned depth) {
        if (!vertex.is_object()) fail("resource must be a mapping");
        require_keys(vertex, {"type", "count"});
        auto type = vertex["type"].try_as<std::string>();
        if (!type) fail("resource type must be a string");
        count(vertex["count"], *type);
        for (auto key : {"unit", "label", "id"})
            if (vertex.contains(key) && !vertex[key].is_string()) fail(std::string(key) + " must be a string");
        if (vertex.contains("exclusive") && !vertex["exclusive"].is_bool()) fail("exclusive must be a boolean");
        if (*type == "slot" && !vertex.contains("label")) fail("slot must have a label");
        if (vertex.contains("with")) vertices(vertex["with"], "with", depth + 1);
    }

    void count(JsonView count, const std::string& type) {
        if (!count.is_integer()) {
            if (integer_counts_) fail("count of '" + type + "' must be an integer");
            if (!count.is_string() && !count.is_object()) fail("count of '" + type + "' must be an integer or a range");
            return;
        }
        auto number = count.as<std::int64_t>();
        bool positive = type == "node" || type == "slot" || type == "core";
        if (positive && number <= 0) fail(type + " count must be > 0");
        if (number < 0) fail(type + " count must be >= 0");
    }

    void tasks(JsonView list) {
        if (!list.is_array() || list.empty()) fail("tasks must be a non-empty list");
        if (integer_counts_ && list.size() != 1) fail("tasks must have exactly one element");
        for (auto task : list.elements()) {
            if (!task.is_object()) fail("task must be a mapping");
            require_keys(task, {"command", "slot", "count"});
            if (integer_counts_) refuse_other_keys(task, {"command", "slot", "count"});
            command(task["command"]);
            if (!task["slot"].is_string()) fail("task slot must be a string");
            task_count(task["count"]);
        }
    }

    static void command(JsonView command) {
        auto words = command.try_as<std::vector<std::string_view>>();
        if (!words || words->empty()) fail("command must be a non-empty list of strings");
    }

    void task_count(JsonView count) const {
        if (!count.is_object()) fail("task count must be a mapping");
        if (count.size() != 1) fail("task count must have exactly one key");
        refuse_other_keys(count, {"per_slot", "total", "per_resource"});
        for (auto [key, value] : count.members()) {
            if (key == "per_resource") continue;
            if (value.try_as<std::int64_t>().value_or(0) <= 0) fail("task count must be an integer > 0");
            if (integer_counts_ && key == "per_slot" && value.as<std::int64_t>() != 1) fail("per_slot must be 1");
        }
    }

    void attributes(JsonView attributes) const {
        if (!attributes.is_object()) fail("attributes must be a mapping");
        refuse_other_keys(attributes, {"system", "user"});
        auto system = attributes["system"];
        if (integer_counts_ || system) {
            if (!system) fail("Missing key (system)");
            if (!system.is_object()) fail("attributes.system must be a mapping");
        }
        if (integer_counts_) require_keys(system, {"duration"});
        if (auto duration = system["duration"]) {
            if (!duration.is_number()) fail("duration must be a number");
            if (!(duration.as<double>() >= 0)) fail("duration must be >= 0");
        }
        dependencies(system["dependencies"]);
        if (auto constraints = system["constraints"]) validate_constraint(constraints, rules_.hosts);
    }

    static void dependencies(JsonView list) {
        if (!list) return;
        if (!list.is_array()) fail("dependencies must be a list");
        for (auto dependency : list.elements()) {
            if (!dependency.is_object()) fail("dependency must be a mapping");
            for (auto key : {"scheme", "value"})
                if (!dependency[key].is_string()) fail(std::string("dependency ") + key + " must be a string");
        }
    }

    const JobspecRules& rules_;
    bool integer_counts_ = true;
};

} // namespace

void validate_jobspec(JsonView jobspec, const JobspecRules& rules) { Validator(rules).run(jobspec); }

} // namespace flux
