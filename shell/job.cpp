#include "job.hpp"

#include <flux/shell_protocol.hpp>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <numeric>

namespace flux::shell {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, text); }

std::vector<RankInfo> make_ranks(const ResourceSet& resources) {
    std::vector<RankInfo> ranks;
    for (auto broker_rank : resources.ranks()) {
        const auto& children = resources.children(broker_rank);
        RankInfo rank;
        rank.rank = static_cast<unsigned>(ranks.size());
        rank.broker_rank = broker_rank;
        rank.host = resources.host(broker_rank);
        rank.cores = children["core"];
        rank.gpus = children["gpu"];
        ranks.push_back(std::move(rank));
    }
    return ranks;
}

std::size_t total(const std::vector<RankInfo>& ranks, Idset RankInfo::*ids) {
    std::size_t sum = 0;
    for (const auto& rank : ranks) sum += (rank.*ids).count();
    return sum;
}

std::vector<unsigned> count_tasks(const JobInfo& job) {
    std::vector<unsigned> counts;
    if (auto per = job.jobspec.per_resource()) {
        for (const auto& rank : job.ranks) {
            auto units = per->type == "core" ? rank.cores.count() : std::size_t{1};
            if (static_cast<std::uint64_t>(per->count) > Taskmap::max_tasks) fail("per-resource: too many tasks");
            counts.push_back(static_cast<unsigned>(units * static_cast<std::size_t>(per->count)));
        }
        return counts;
    }
    std::vector<std::size_t> cores;
    for (const auto& rank : job.ranks) cores.push_back(rank.cores.count());
    return distribute_tasks(cores, job.ntasks, static_cast<std::size_t>(job.cores_per_slot));
}

} // namespace

std::vector<unsigned> distribute_tasks(std::span<const std::size_t> cores, std::size_t ntasks,
                                       std::size_t cores_per_task) {
    std::vector<unsigned> counts(cores.size());
    if (cores.empty()) return counts;
    auto need = std::max<std::size_t>(1, std::min(cores_per_task, *std::min_element(cores.begin(), cores.end())));
    std::vector<std::size_t> order(cores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return cores[a] > cores[b]; });
    std::vector<std::size_t> left;
    std::deque<std::size_t> ring;
    for (std::size_t dealt = 0; dealt < ntasks; ++dealt) {
        if (ring.empty()) {
            left.assign(cores.begin(), cores.end());
            ring.assign(order.begin(), order.end());
        }
        auto node = ring.front();
        ring.pop_front();
        ++counts[node];
        left[node] -= std::min(left[node], need);
        if (left[node] >= need) ring.push_back(node);
    }
    return counts;
}

JobInfo make_job(JobId id, std::uint32_t userid, std::uint32_t owner, std::uint32_t broker_rank, JsonView jobspec,
                 JsonView R) {
    JobInfo job;
    job.id = id;
    job.userid = userid;
    job.owner = owner;
    job.service = shell_protocol::service_name(userid, id);
    job.guest_namespace = shell_protocol::guest_namespace(id);
    job.jobspec = JobspecView(jobspec);
    job.R = R;

    auto resources = ResourceSet::decode(R);
    job.expiration = resources.expiration;
    job.ranks = make_ranks(resources);
    job.size = static_cast<unsigned>(job.ranks.size());
    auto own = resources.ranks().position(broker_rank);
    if (!own) fail("broker rank " + std::to_string(broker_rank) + " is not in R");
    job.rank = static_cast<unsigned>(*own);

    auto shape = job.jobspec.shape();
    job.nslots = resources.nslots;
    if (job.nslots == 0) job.nslots = shape.nnodes > 0 ? shape.nslots / shape.nnodes * job.size : shape.nslots;
    job.cores_per_slot = static_cast<std::int64_t>(total(job.ranks, &RankInfo::cores)) / job.nslots;
    job.gpus_per_slot = static_cast<std::int64_t>(total(job.ranks, &RankInfo::gpus)) / job.nslots;
    if (shape.nnodes > 0) job.nnodes = shape.nnodes;
    job.node_exclusive = shape.exclusive;

    auto tasks = job.jobspec.json()["tasks"][0]["count"]["total"].try_as<std::int64_t>().value_or(job.nslots);
    if (tasks <= 0 || static_cast<std::uint64_t>(tasks) > Taskmap::max_tasks)
        fail("invalid number of tasks " + std::to_string(tasks));
    job.ntasks = static_cast<std::size_t>(tasks);
    auto counts = count_tasks(job);
    job.ntasks = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    set_taskmap(job, Taskmap::block(counts));
    return job;
}

void set_taskmap(JobInfo& job, Taskmap map) {
    if (job.taskmap.known()) map.require(job.taskmap.ntasks(), job.taskmap.nnodes());
    if (auto last = map.nodes().last(); last >= job.size) fail("task map names node " + std::to_string(*last));
    job.taskmap = std::move(map);
    for (auto& rank : job.ranks) rank.taskids = job.taskmap.tasks_of(rank.rank);
}

std::vector<std::string> trim_unused_slots(JobInfo& job) {
    std::vector<std::string> changes;
    if (job.jobspec.json()["version"].try_as<int>() != 1 || job.node_exclusive || job.jobspec.per_resource() ||
        job.nnodes <= 1 || job.nslots <= static_cast<std::int64_t>(job.ntasks))
        return changes;
    auto trim = [&](RankInfo& rank, Idset& ids, std::int64_t per_slot, const char* what) {
        auto keep = ids.lowest(rank.taskids.count() * static_cast<std::size_t>(per_slot));
        if (keep == ids) return;
        if (rank.rank == job.rank)
            changes.push_back(rank.host + ": adjusted " + what + " from " + ids.encode() + " to " + keep.encode());
        ids = std::move(keep);
    };
    for (auto& rank : job.ranks) {
        trim(rank, rank.cores, job.cores_per_slot, "cores");
        trim(rank, rank.gpus, job.gpus_per_slot, "gpus");
    }
    return changes;
}

} // namespace flux::shell
