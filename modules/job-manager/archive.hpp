// Jobs as the KVS has them: what is read at start, and whatever is asked about jobs that are over.
#pragma once

#include "job.hpp"

#include <flux/handle.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flux::job_manager {

inline constexpr std::string_view checkpoint_key = "checkpoint.job-manager";

class Archive {
public:
    explicit Archive(Handle& handle) : handle_(handle) {}

    /// A job; null when there is none. \throws Error when what is there cannot be read.
    Task<std::unique_ptr<Job>> load(JobId id);
    /// Called for each job with what load() would have given: null and why, when it cannot be read.
    using Visit = std::function<void(JobId id, std::unique_ptr<Job> job, const Error* failure)>;
    /// Visit jobs in this order.
    Task<> load_each(std::vector<JobId> ids, Visit visit);

    /// All jobs, active or not, in the order of their ids: as many look-ups as there are jobs.
    Task<std::vector<JobId>> all_ids();
    /// Jobs with the mark of active ones; nothing for a store that has never had such marks.
    Task<std::optional<std::vector<JobId>>> marked_ids();
    /// The checkpoint, an empty object when there is none.
    Task<Json> checkpoint();

private:
    Task<std::vector<std::string>> list_each(std::vector<std::string> directories);

    Handle& handle_;
};

} // namespace flux::job_manager
