// .dependency-singleton: of the jobs of one user with one name, those that ask for it run one after the other, oldest
// first, and not beside others (jobs.md 2.8).
#include "builtins.hpp"

#include <flux/jobspec.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace flux::job_manager {

namespace {

constexpr std::string_view description = "singleton";

class DependencySingleton final : public JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;

    void job_create(const JobtapJob& job) override {
        auto name = JobspecView(job.jobspec).system("job.name").try_as<std::string>();
        if (!name) return;
        auto key = fmt::format("{}:{}", job.userid, *name);
        keys_[job.id] = key;
        groups_[key].free.insert(job.id);
    }

    bool job_dependency(const JobtapJob& job, std::string_view scheme, JsonView) override {
        if (scheme != description) return false;
        auto key = keys_.find(job.id);
        if (key == keys_.end()) throw Error(EINVAL, "singleton jobs require an explicit job name");
        auto& group = groups_.at(key->second);
        if (group.free.size() == 1 && group.waiting.empty()) {
            release(job.id);
            return true;
        }
        try {
            host().dependency_add(job.id, description);
        } catch (const Error& error) {
            if (error.errnum() != EEXIST) throw;
            return true; // had its turn before job-manager was started anew
        }
        group.free.erase(job.id);
        group.waiting.insert(job.id);
        return true;
    }

    void job_inactive(const JobtapJob& job) override { leave(job.id); }
    void job_destroy(const JobtapJob& job) override { leave(job.id); }

private:
    struct Group {
        std::set<JobId> free; // active and not waiting
        std::set<JobId> waiting;
    };

    // It may not have been added, when there was nobody to wait for.
    void release(JobId id) {
        try {
            host().dependency_remove(id, description);
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
    }

    void leave(JobId id) {
        auto key = keys_.find(id);
        if (key == keys_.end()) return;
        auto at = groups_.find(key->second);
        keys_.erase(key);
        auto& group = at->second;
        group.free.erase(id);
        group.waiting.erase(id);
        if (group.free.empty() && !group.waiting.empty()) {
            auto next = *group.waiting.begin();
            group.waiting.erase(next);
            group.free.insert(next);
            release(next);
        }
        if (group.free.empty()) groups_.erase(at);
    }

    std::unordered_map<JobId, std::string> keys_; // jobs with a name
    std::map<std::string, Group> groups_;
};

} // namespace

std::unique_ptr<JobtapPlugin> make_dependency_singleton(JobtapHost& host) {
    return std::make_unique<DependencySingleton>(host);
}

} // namespace flux::job_manager
