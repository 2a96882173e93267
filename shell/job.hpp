// What a shell derives from jobspec and R before it starts anything. Pure.
#pragma once

#include <flux/resource_set.hpp>
#include <flux/shell.hpp>

#include <span>
#include <string>
#include <vector>

namespace flux::shell {

/// The job as the shell on `broker_rank` sees it, with the default task map. Borrows jobspec and R.
/// \throws Error EINVAL when the two do not make a job, or the broker's rank has no part in it.
JobInfo make_job(JobId id, std::uint32_t userid, std::uint32_t owner, std::uint32_t broker_rank, JsonView jobspec,
                 JsonView R);

/// Deal tasks one at a time to nodes, those with most cores first, each task taking `cores_per_task`; when all nodes
/// are full they are dealt to once more.
std::vector<unsigned> distribute_tasks(std::span<const std::size_t> cores, std::size_t ntasks,
                                       std::size_t cores_per_task);

/// Use another task map. \throws Error EINVAL when it is for other numbers of tasks or nodes.
void set_taskmap(JobInfo& job, Taskmap map);

/// Of a job with fewer tasks than slots each shell keeps the resources of its tasks only. Returns what changed in this
/// shell, as texts for the log.
std::vector<std::string> trim_unused_slots(JobInfo& job);

} // namespace flux::shell
