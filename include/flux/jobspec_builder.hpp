// Making version 1 jobspecs, as the submission commands do.
#pragma once

#include <flux/jobspec.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flux {

/// What `run`, `submit` and `bulksubmit` ask for. Unset and 0 are the same.
struct TaskResources {
    std::int64_t nodes = 0; ///< -N
    bool exclusive = false; ///< -x
    // per task
    std::int64_t tasks = 0;          ///< -n
    std::int64_t cores_per_task = 0; ///< -c
    std::int64_t gpus_per_task = 0;  ///< -g
    // per resource, not together with those per task
    std::int64_t cores = 0;          ///< --cores
    std::int64_t tasks_per_node = 0; ///< not together with tasks_per_core
    std::int64_t tasks_per_core = 0;
    std::int64_t gpus_per_node = 0;
};

/// What `batch` and `alloc` ask for.
struct SlotResources {
    std::int64_t nodes = 0;
    bool exclusive = false;
    std::int64_t slots = 0;
    std::int64_t cores_per_slot = 0;
    std::int64_t gpus_per_slot = 0;
};

/// A jobspec under construction. Members appear in the order of the calls.
class JobspecBuilder {
public:
    /// A job that runs `command` as tasks. \throws Error EINVAL when the request contradicts itself.
    static JobspecBuilder for_tasks(const std::vector<std::string>& command, const TaskResources& resources);
    /// A job that is a Flux instance: one broker per node, `command` = `flux broker …`.
    static JobspecBuilder for_instance(const std::vector<std::string>& command, const SlotResources& resources);

    void set_duration(double seconds);
    void set_cwd(std::string_view directory);
    void set_queue(std::string_view queue);
    void set_bank(std::string_view bank);
    void set_job_name(std::string_view name);
    /// A task environment variable; nothing unsets it.
    void set_environment(std::string_view name, std::optional<std::string_view> value);
    /// A shell option at a dotted path.
    void set_shell_option(std::string_view path, Json value);
    /// Anything at a dotted path below `attributes`. \throws Error EINVAL when the path crosses a value.
    void set_attribute(std::string_view path, Json value);
    void add_dependency(Json dependency);
    void set_constraints(Json constraints);
    /// An RFC 37 file of the job.
    void add_file(std::string_view name, Json file);
    /// Replace `resources`, for requests in another notation.
    void set_resources(Json resources);

    JobspecView view() const noexcept { return JobspecView(json_); }
    Json take() noexcept { return std::move(json_); }

private:
    JobspecBuilder(const std::vector<std::string>& command, Json resource, Json task_count);
    JsonRef system() const { return json_["attributes"]["system"]; }

    Json json_;
};

/// `SCHEME:VALUE[?key=val[&key=val…]]` as an element of `dependencies`; numbers among the values become numbers.
/// \throws Error EINVAL
Json parse_dependency(std::string_view uri);

/// `K` or `K=V` of an option that sets a jobspec value: V is JSON when it parses as that, else a string; without `=V`
/// the value is 1.
std::pair<std::string, Json> parse_setting(std::string_view text);

/// The path below `attributes` that `--setattr NAME` means: `NAME` is below `system`, unless it begins with `system.`,
/// `user.`, `attributes.` or a dot.
std::string attribute_path(std::string_view name);

} // namespace flux
