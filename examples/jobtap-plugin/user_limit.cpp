// A plugin of job-manager out of the tree: no user may have more than so many jobs that are not over.
//   cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build
//   flux jobtap load ./build/user-limit.so max-jobs=100
//   flux jobtap query user-limit.so
// or, for good, in the configuration:
//   [job-manager]
//   plugins = [ { load = "/usr/local/lib/user-limit.so", conf = { max-jobs = 100 } } ]
#include <flux/jobtap.hpp>

#include <cerrno>
#include <map>
#include <set>

using namespace flux;

class UserLimit final : public JobtapPlugin {
public:
    explicit UserLimit(JobtapHost& host)
        : JobtapPlugin(host), max_jobs_(host.arguments().get<std::size_t>("max-jobs")) {}

    Json query() override {
        auto users = Json::object();
        for (auto& [userid, jobs] : active_) users.set(std::to_string(userid), jobs.size());
        return Json::object("max-jobs", max_jobs_, "active", std::move(users));
    }

    void job_validate(const JobtapJob& job) override {
        auto user = active_.find(job.userid);
        if (user == active_.end() || user->second.contains(job.id)) return; // the second is an update of a job
        if (user->second.size() >= max_jobs_)
            throw Error(EAGAIN, "you have " + std::to_string(max_jobs_) + " jobs already, wait until one has ended");
    }

    // Also called for every active job when the plugin is loaded, so nothing needs to be stored.
    void job_new(const JobtapJob& job) override { active_[job.userid].insert(job.id); }
    void job_inactive(const JobtapJob& job) override { forget(job); }
    void job_destroy(const JobtapJob& job) override { forget(job); } // another plugin may have rejected it

private:
    void forget(const JobtapJob& job) {
        auto user = active_.find(job.userid);
        if (user == active_.end()) return;
        user->second.erase(job.id);
        if (user->second.empty()) active_.erase(user);
    }

    std::size_t max_jobs_;
    std::map<std::uint32_t, std::set<JobId>> active_; // by user
};

FLUX_JOBTAP_PLUGIN(UserLimit)
