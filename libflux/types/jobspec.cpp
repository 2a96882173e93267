#include <flux/jobspec.hpp>

#include <cerrno>
#include <limits>

namespace flux {
namespace {

// Far deeper than any real jobspec, far less than a stack holds.
constexpr unsigned max_depth = 100;

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, text); }

std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t result;
    if (__builtin_mul_overflow(a, b, &result)) fail("resource counts are too large");
    return result;
}

// `above` is the product of the counts on the path so far.
void walk(JsonView vertices, std::int64_t above, JobShape& shape, unsigned depth) {
    if (depth > max_depth) fail("resources are nested too deeply");
    for (auto vertex : vertices.elements()) {
        auto type = vertex["type"].try_as<std::string>();
        if (!type) fail("resource without a type");
        auto count = vertex["count"].try_as<std::int64_t>().value_or(0);
        if (count <= 0) fail("Invalid count " + vertex["count"].dump() + " for type '" + *type + "'");
        auto here = product(above, count);
        if (*type == "node") {
            shape.nnodes = here;
            shape.exclusive = vertex["exclusive"].try_as<bool>().value_or(false);
        } else if (*type == "slot") {
            shape.nslots = product(count, shape.nnodes > 0 ? shape.nnodes : 1);
        } else if (*type == "core") {
            shape.slot_size = count;
        } else if (*type == "gpu") {
            shape.slot_gpus = count;
        }
        walk(vertex["with"], here, shape, depth + 1);
    }
}

std::int64_t task_count(JsonView count, std::int64_t nslots) {
    if (auto total = count["total"].try_as<std::int64_t>()) return *total;
    if (auto per_slot = count["per_slot"].try_as<std::int64_t>()) return product(nslots, *per_slot);
    return nslots;
}

std::string_view base_name(std::string_view path) {
    auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

} // namespace

JobShape JobspecView::shape() const {
    JobShape shape;
    if (!json_["version"].is_integer()) fail("jobspec has no integer version");
    auto duration = system("duration").try_as<double>();
    if (!duration) fail("jobspec has no duration");
    shape.duration = *duration;
    walk(json_["resources"], 1, shape, 0);
    if (shape.nslots == 0) fail("Unable to determine slot count");
    if (shape.slot_size == 0) fail("Unable to determine slot size");
    product(shape.nslots, shape.slot_size);
    product(shape.nslots, std::max<std::int64_t>(shape.slot_gpus, 1));
    shape.ntasks = task_count(json_["tasks"][0]["count"], shape.nslots);
    return shape;
}

std::vector<std::string> JobspecView::command() const {
    auto command = json_["tasks"][0]["command"].try_as<std::vector<std::string>>();
    if (!command || command->empty()) fail("jobspec has no command");
    return std::move(*command);
}

JsonView JobspecView::system(std::string_view path) const noexcept { return json_["attributes"]["system"].find(path); }

JsonView JobspecView::shell_option(std::string_view path) const noexcept { return system("shell.options").find(path); }

double JobspecView::duration() const noexcept { return system("duration").try_as<double>().value_or(0); }
std::string JobspecView::queue() const { return system("queue").try_as<std::string>().value_or(""); }
std::string JobspecView::bank() const { return system("bank").try_as<std::string>().value_or(""); }
std::string JobspecView::project() const { return system("project").try_as<std::string>().value_or(""); }
std::string JobspecView::cwd() const { return system("cwd").try_as<std::string>().value_or(""); }

std::string JobspecView::job_name() const {
    if (auto name = system("job.name").try_as<std::string>()) return *name;
    return std::string(base_name(json_["tasks"][0]["command"][0].try_as<std::string_view>().value_or("")));
}

std::optional<PerResource> JobspecView::per_resource() const {
    auto option = shell_option("per-resource");
    if (!option) return std::nullopt;
    PerResource result;
    result.type = option["type"].try_as<std::string>().value_or("");
    if (result.type != "node" && result.type != "core") fail("per-resource: type must be 'node' or 'core'");
    if (option.contains("count")) result.count = option["count"].try_as<std::int64_t>().value_or(0);
    if (result.count <= 0) fail("per-resource: count must be an integer > 0");
    return result;
}

bool JobspecView::is_instance() const {
    if (system("batch")) return true;
    auto command = json_["tasks"][0]["command"];
    if (base_name(command[0].try_as<std::string_view>().value_or("")) != "flux") return false;
    auto verb = command[1].try_as<std::string_view>().value_or("");
    return verb == "broker" || verb == "start";
}

} // namespace flux
