#include <flux/jobspec_builder.hpp>

#include <cerrno>

namespace flux {
namespace {

constexpr const char* label = "task";

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, text); }

Json vertex(const char* type, std::int64_t count) { return Json::object("type", type, "count", count); }

Json slot(std::int64_t count, std::int64_t cores, std::int64_t gpus) {
    auto result = vertex("slot", count);
    auto with = Json::array_of(vertex("core", std::max<std::int64_t>(cores, 1)));
    if (gpus > 0) with.append(vertex("gpu", gpus));
    result.set("with", std::move(with));
    result.set("label", label);
    return result;
}

Json node(std::int64_t count, bool exclusive, Json slot) {
    auto result = vertex("node", count);
    if (exclusive) result.set("exclusive", true);
    result.set("with", Json::array_of(std::move(slot)));
    return result;
}

struct Shape {
    Json resource;
    Json task_count = Json::object("per_slot", 1);
};

Shape per_task(const TaskResources& want) {
    Shape shape;
    auto tasks = want.tasks > 0 ? want.tasks : std::max<std::int64_t>(want.nodes, 1);
    if (want.nodes == 0) {
        shape.resource = slot(tasks, want.cores_per_task, want.gpus_per_task);
        return shape;
    }
    if (want.nodes > tasks) fail("node count must not be greater than task count");
    auto per_node = (tasks + want.nodes - 1) / want.nodes;
    bool whole_nodes = want.exclusive || want.tasks == 0;
    shape.resource = node(want.nodes, whole_nodes, slot(per_node, want.cores_per_task, want.gpus_per_task));
    if (tasks % want.nodes != 0) shape.task_count = Json::object("total", tasks);
    return shape;
}

Shape per_resource(const TaskResources& want) {
    Shape shape;
    if (want.tasks > 0 || want.cores_per_task > 0 || want.gpus_per_task > 0)
        fail("per-resource options can't be used with per-task options");
    if (want.tasks_per_node > 0 && want.tasks_per_core > 0)
        fail("do not specify both --tasks-per-node and --tasks-per-core");
    if (want.gpus_per_node > 0 && want.nodes == 0) fail("--gpus-per-node requires a node count");
    if (want.cores == 0 && want.nodes == 0) fail("a node or core count is required with per-resource options");
    if (want.nodes == 0) {
        shape.resource = slot(want.cores, 1, 0);
    } else if (want.cores == 0) {
        shape.resource = node(want.nodes, true, slot(1, 1, want.gpus_per_node));
    } else {
        if (want.cores < want.nodes) fail("number of cores cannot be less than nnodes");
        if (want.cores % want.nodes != 0) fail("number of cores must be evenly divisible by node count");
        shape.resource = node(want.nodes, want.exclusive, slot(1, want.cores / want.nodes, want.gpus_per_node));
    }
    return shape;
}

void refuse_negative(std::initializer_list<std::int64_t> counts) {
    for (auto count : counts)
        if (count < 0) fail("resource counts must be >= 0");
}

Json number_or_string(std::string_view text) {
    try {
        auto value = Json::parse(text);
        if (value.is_number()) return value;
    } catch (const Error&) {
        // Not JSON, so it is a string.
    }
    return Json(text);
}

} // namespace

JobspecBuilder::JobspecBuilder(const std::vector<std::string>& command, Json resource, Json task_count) {
    if (command.empty()) fail("job command and arguments are missing");
    auto task = Json::object("command", command, "slot", label, "count", std::move(task_count));
    json_ = Json::object("resources", Json::array_of(std::move(resource)), "tasks", Json::array_of(std::move(task)),
                         "attributes", Json::object("system", Json::object("duration", 0)), "version", 1);
}

JobspecBuilder JobspecBuilder::for_tasks(const std::vector<std::string>& command, const TaskResources& want) {
    refuse_negative({want.nodes, want.tasks, want.cores_per_task, want.gpus_per_task, want.cores, want.tasks_per_node,
                     want.tasks_per_core, want.gpus_per_node});
    if (want.exclusive && want.nodes == 0) fail("exclusive can only be set with a node count");
    bool by_resource = want.cores > 0 || want.tasks_per_node > 0 || want.tasks_per_core > 0 || want.gpus_per_node > 0;
    auto shape = by_resource ? per_resource(want) : per_task(want);
    JobspecBuilder builder(command, std::move(shape.resource), std::move(shape.task_count));
    auto set_per_resource = [&](const char* type, std::int64_t count) {
        builder.set_shell_option("per-resource", Json::object("type", type, "count", count));
    };
    if (want.tasks_per_node > 0) set_per_resource("node", want.tasks_per_node);
    if (want.tasks_per_core > 0) set_per_resource("core", want.tasks_per_core);
    return builder;
}

JobspecBuilder JobspecBuilder::for_instance(const std::vector<std::string>& command, const SlotResources& want) {
    refuse_negative({want.nodes, want.slots, want.cores_per_slot, want.gpus_per_slot});
    if (want.nodes == 0 && want.slots == 0) fail("at least one of -n/--nslots and -N/--nodes must be given");
    TaskResources tasks;
    tasks.nodes = want.nodes;
    tasks.exclusive = want.exclusive;
    tasks.tasks = want.slots;
    tasks.cores_per_task = want.cores_per_slot;
    tasks.gpus_per_task = want.gpus_per_slot;
    if (want.exclusive && want.nodes == 0) fail("exclusive can only be set with a node count");
    auto shape = per_task(tasks);
    JobspecBuilder builder(command, std::move(shape.resource), Json::object("per_slot", 1));
    builder.set_shell_option("per-resource", Json::object("type", "node"));
    builder.set_shell_option("mpi", "none");
    // The brokers of an instance end at different times without being sick.
    builder.set_shell_option("exit-timeout", "none");
    return builder;
}

void JobspecBuilder::set_duration(double seconds) { system().set("duration", seconds); }
void JobspecBuilder::set_cwd(std::string_view directory) { system().set("cwd", directory); }
void JobspecBuilder::set_queue(std::string_view queue) { system().set("queue", queue); }
void JobspecBuilder::set_bank(std::string_view bank) { system().set("bank", bank); }
void JobspecBuilder::set_job_name(std::string_view name) { system().object_at("job").set("name", name); }

void JobspecBuilder::set_environment(std::string_view name, std::optional<std::string_view> value) {
    system().object_at("environment").set(name, value ? Json(*value) : Json());
}

void JobspecBuilder::set_shell_option(std::string_view path, Json value) {
    system().object_at("shell").object_at("options").set_path(path, std::move(value));
}

void JobspecBuilder::set_attribute(std::string_view path, Json value) {
    json_["attributes"].set_path(path, std::move(value));
}

void JobspecBuilder::add_dependency(Json dependency) {
    system().array_at("dependencies").append(std::move(dependency));
}
void JobspecBuilder::set_constraints(Json constraints) { system().set("constraints", std::move(constraints)); }
void JobspecBuilder::add_file(std::string_view name, Json file) {
    system().object_at("files").set(name, std::move(file));
}
void JobspecBuilder::set_resources(Json resources) { json_.set("resources", std::move(resources)); }

Json parse_dependency(std::string_view uri) {
    auto query = uri.find('?');
    auto head = uri.substr(0, query);
    auto colon = head.find(':');
    auto scheme = head.substr(0, colon);
    // `singleton` is the one scheme that needs no value.
    if (scheme.empty() || (colon == std::string_view::npos && scheme != "singleton"))
        fail("dependency '" + std::string(uri) + "' is not of the form SCHEME:VALUE");
    auto value = colon == std::string_view::npos ? std::string_view() : head.substr(colon + 1);
    auto result = Json::object("scheme", scheme, "value", value);
    for (auto rest = query == std::string_view::npos ? std::string_view() : uri.substr(query + 1); !rest.empty();) {
        auto end = rest.find_first_of("&;");
        auto pair = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        auto equals = pair.find('=');
        if (equals == std::string_view::npos || equals == 0)
            fail("dependency '" + std::string(uri) + "': '" + std::string(pair) + "' is not of the form key=value");
        auto key = pair.substr(0, equals);
        if (key == "scheme" || key == "value")
            fail("dependency '" + std::string(uri) + "': key '" + std::string(key) + "' is reserved");
        auto parsed = number_or_string(pair.substr(equals + 1));
        if (!result.contains(key)) {
            result.set(key, std::move(parsed));
        } else if (result[key].is_array()) {
            result[key].append(std::move(parsed));
        } else {
            auto both = Json::array_of(result[key].copy(), std::move(parsed));
            result.set(key, std::move(both));
        }
    }
    return result;
}

std::pair<std::string, Json> parse_setting(std::string_view text) {
    auto equals = text.find('=');
    std::string key(text.substr(0, equals));
    if (key.empty()) fail("'" + std::string(text) + "' has no key before its value");
    if (equals == std::string_view::npos) return {std::move(key), Json(1)};
    auto value = text.substr(equals + 1);
    try {
        return {std::move(key), Json::parse(value)};
    } catch (const Error&) {
        return {std::string(text.substr(0, equals)), Json(value)};
    }
}

std::string attribute_path(std::string_view name) {
    if (name.starts_with('.')) return std::string(name.substr(1));
    if (name.starts_with("attributes.")) return std::string(name.substr(std::string_view("attributes.").size()));
    if (name.starts_with("system.") || name.starts_with("user.")) return std::string(name);
    return "system." + std::string(name);
}

} // namespace flux
