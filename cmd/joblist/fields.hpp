// What listings of jobs can show of a job, as job-list tells it (cli.md 6.6).
#pragma once

#include "cmd/joblist/instance.hpp"
#include "cmd/output/format.hpp"
#include "cmd/output/value.hpp"

#include <flux/job_id.hpp>
#include <flux/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::joblist {

/// One job of an answer of job-list, borrowed.
class Job {
public:
    /// \param now       seconds since 1970, for what still runs.
    /// \param instance  what the job tells of itself if it is an instance that was asked.
    Job(JsonView json, double now, const Instance* instance = nullptr) : json_(json), now_(now), instance_(instance) {}

    JsonView json() const noexcept { return json_; }
    /// The value of a field that heading() knows.
    output::Value field(std::string_view name) const;

    bool active() const noexcept;
    bool running() const noexcept;
    JobId id() const;
    double runtime() const noexcept;
    /// `PENDING`-like name of the state, or of the result once there is one.
    std::string_view status() const noexcept;
    /// URI of the instance that the job is; empty when it is none.
    std::string uri() const;
    /// What waits to be fulfilled, as given.
    std::vector<std::string> dependencies() const;
    /// As shells count: exit code, or minus the signal. Nothing while active.
    std::optional<int> returncode() const noexcept;

private:
    JsonView json_;
    double now_;
    const Instance* instance_;
};

/// Heading of a field; nothing when there is no such field.
std::optional<std::string> heading(std::string_view name);
/// Whether a field is told by the instance that a job is.
bool of_instance(std::string_view name) noexcept;
/// The attributes to ask job-list for, so that these fields can be told.
std::vector<std::string> attributes(const std::vector<std::string>& fields);

/// The whole job as `flux jobs --json` shows it.
Json to_json(const Job& job);

} // namespace flux::joblist
