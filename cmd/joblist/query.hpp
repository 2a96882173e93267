// Asking job-list for jobs.
#pragma once

#include "cmd/options/parse.hpp"

#include <flux/handle.hpp>
#include <flux/job_id.hpp>

#include <string>
#include <vector>

namespace flux::joblist {

/// Masks of what `-f, --filter` and its like select.
class Filter {
public:
    Filter() = default;
    /// Add names of states and results. \throws Error EINVAL `Invalid filter specified: X`
    void add(const std::vector<std::string>& names);
    bool empty() const noexcept { return states == 0 && results == 0; }

    int states = 0;
    int results = 0;
};

/// What jobs to tell, and what of them.
class Query {
public:
    Query() {}
    std::vector<std::string> attributes;
    std::size_t max_entries = 0; ///< 0: all
    double since = 0;
    std::uint32_t userid = 0; ///< select::all_users: everybody's
    Filter filter;
    std::string name;
    std::vector<std::string> queues;
    std::string include; ///< idset of ranks or hostlist

    Json payload() const;
};

/// Jobs in the order of job-list.
Task<std::vector<Json>> list(Handle* handle, const Query* query);

/// Jobs by id, in the order of the ids; nothing for those that are unknown, which are told on stderr.
Task<std::vector<Json>> list_ids(Handle* handle, std::vector<JobId> ids, std::vector<std::string> attributes);

} // namespace flux::joblist
