// Jobspec (RFC 14, RFC 25): reading and checking. Making one is in jobspec_builder.hpp.
//
// Services read leniently, by JobspecView: only what they need must be there, the version is not looked at. Strictness
// is the validator's, `validate_jobspec`, which ingest applies to every job.
#pragma once

#include <flux/hostlist.hpp>
#include <flux/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux {

/// The numbers behind the `resources` and `tasks` of a jobspec with integer counts.
struct JobShape {
    std::int64_t nnodes = 0; ///< 0: the jobspec names no node
    std::int64_t nslots = 0;
    std::int64_t slot_size = 0; ///< cores of a slot
    std::int64_t slot_gpus = 0;
    std::int64_t ntasks = 0;
    bool exclusive = false; ///< whole nodes
    double duration = 0;    ///< seconds, 0 = unlimited

    std::int64_t ncores() const noexcept { return nslots * slot_size; }
    std::int64_t ngpus() const noexcept { return nslots * slot_gpus; }
};

/// The shell option `per-resource`: how many tasks run on each resource of a type, instead of `tasks[0].count`.
struct PerResource {
    std::string type; ///< `node` or `core`
    std::int64_t count = 1;
};

/// Borrowed access to a jobspec.
class JobspecView {
public:
    explicit JobspecView(JsonView json) noexcept : json_(json) {}

    JsonView json() const noexcept { return json_; }

    /// \throws Error EINVAL `Unable to determine slot count` and its like.
    JobShape shape() const;

    /// `tasks[0].command`. \throws Error EINVAL when it is no non-empty array of strings.
    std::vector<std::string> command() const;

    /// Member of `attributes.system` at a dotted path; nothing when absent.
    JsonView system(std::string_view path) const noexcept;
    /// Shell option at a dotted path; nothing when absent.
    JsonView shell_option(std::string_view path) const noexcept;

    /// Seconds, 0 when unlimited or absent.
    double duration() const noexcept;
    /// Empty when absent, like the next ones.
    std::string queue() const;
    std::string bank() const;
    std::string project() const;
    std::string cwd() const;
    /// `job.name`, by default the last path component of the command.
    std::string job_name() const;
    JsonView environment() const noexcept { return system("environment"); }
    JsonView dependencies() const noexcept { return system("dependencies"); }
    JsonView constraints() const noexcept { return system("constraints"); }
    JsonView files() const noexcept { return system("files"); }
    /// \throws Error EINVAL when the option is there and malformed.
    std::optional<PerResource> per_resource() const;

    /// Whether the job is a Flux instance (`batch`, `alloc`, or `flux broker|start` as its command).
    bool is_instance() const;

private:
    JsonView json_;
};

/// What the validator insists on.
struct JobspecRules {
    /// Nothing: any version, with RFC 14 counts.
    std::optional<int> version = 1;
    /// The instance's hosts, to which host constraints must keep; null when they are not known.
    const Hostlist* hosts = nullptr;
};

/// The strict check made at ingest. \throws Error EINVAL with the validator's text, as `Missing key (version)`.
void validate_jobspec(JsonView jobspec, const JobspecRules& rules = {});

} // namespace flux
