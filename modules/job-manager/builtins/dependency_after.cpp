// .dependency-after: a job waits for another one to start or to end in some way (RFC 26, jobs.md 2.8).
#include "builtins.hpp"

#include <flux/jobspec.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <vector>

namespace flux::job_manager {

namespace {

struct Scheme {
    std::string_view name;
    std::string_view prefix; // of the description
};

constexpr Scheme after_start{"afterstart", "after-start"};
constexpr Scheme after_any{"afterany", "after-finish"};
constexpr Scheme after_ok{"afterok", "after-success"};
constexpr Scheme after_not_ok{"afternotok", "after-failure"};
constexpr Scheme after_except{"afterexcept", "after-except"};
constexpr const Scheme* schemes[] = {&after_start, &after_any, &after_ok, &after_not_ok, &after_except};
constexpr std::string_view deprecated_start = "after";

const Scheme* find_scheme(std::string_view name) noexcept {
    if (name == deprecated_start) return &after_start;
    for (auto* scheme : schemes) {
        if (scheme->name == name) return scheme;
    }
    return nullptr;
}

// Why a dependency on a job that is over cannot hold; empty when it does.
std::string never(const Scheme& scheme, const JobtapJob& antecedent, std::string_view description) {
    if (&scheme == &after_any) return {};
    if (!antecedent.allocated) return fmt::format("dependency {}: job never started", description);
    bool completed = antecedent.result == JobResult::completed;
    bool excepted = antecedent.end_event["name"].try_as<std::string_view>() == "exception";
    bool holds = &scheme == &after_start    ? antecedent.started
                 : &scheme == &after_ok     ? completed
                 : &scheme == &after_not_ok ? !completed
                                            : excepted;
    if (holds) return {};
    return fmt::format("dependency {} can never be satisfied", description);
}

class DependencyAfter final : public JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;

    void job_references(const JobtapJob& job, std::vector<JobId>& ids) override {
        for (auto dependency : JobspecView(job.jobspec).dependencies().elements()) {
            if (!find_scheme(dependency["scheme"].try_as<std::string_view>().value_or(""))) continue;
            auto id = JobId::try_parse(dependency["value"].try_as<std::string_view>().value_or(""));
            if (id) ids.push_back(*id);
        }
    }

    bool job_dependency(const JobtapJob& job, std::string_view name, JsonView dependency) override {
        auto* scheme = find_scheme(name);
        if (!scheme) return false;
        auto value = dependency.get<std::string>("value");
        auto id = JobId::try_parse(value);
        if (!id) throw Error(EINVAL, fmt::format("{}: \"{}\" is not a valid jobid", name, value));
        auto antecedent = host().lookup(*id);
        if (!antecedent || *id == job.id) throw Error(EINVAL, fmt::format("{}: {}: job not found", name, value));
        if (antecedent->userid != job.userid)
            throw Error(EINVAL, fmt::format("Permission denied for dependency on {}", value));
        if (name == deprecated_start && job.state == JobState::new_)
            host().raise(job.id, "dependency", 3, "scheme \"after\" is deprecated, use \"afterstart\"");
        auto description = fmt::format("{}={}", scheme->prefix, value);
        if (antecedent->state == JobState::inactive || (scheme == &after_start && antecedent->started))
            settle(job, *scheme, *antecedent, description);
        else if (add(job, description)) {
            waiting_[*id].emplace_back(job.id, scheme, description);
            antecedents_[job.id].push_back(*id);
        }
        return true;
    }

    void job_event(const JobtapJob& job, const EventlogEntry& entry) override {
        if (entry.name == "start") release(job, [](const Waiting& waiting) { return waiting.scheme == &after_start; });
    }
    void job_inactive(const JobtapJob& job) override {
        release(job, [](const Waiting&) { return true; });
        forget(job.id);
    }
    void job_destroy(const JobtapJob& job) override { forget(job.id); }

    Json query() override {
        auto list = Json::array();
        for (auto& [antecedent, dependents] : waiting_) {
            for (auto& waiting : dependents) {
                list.append(Json::object("id", waiting.id, "depid", antecedent, "type", waiting.scheme->prefix,
                                         "description", waiting.description));
            }
        }
        return Json::object("dependencies", std::move(list));
    }

private:
    struct Waiting {
        Waiting(JobId id, const Scheme* scheme, std::string description)
            : id(id), scheme(scheme), description(std::move(description)) {}
        JobId id;
        const Scheme* scheme;
        std::string description;
    };

    // False when the dependency was satisfied before job-manager was started anew.
    bool add(const JobtapJob& job, const std::string& description) {
        try {
            host().dependency_add(job.id, description);
            return true;
        } catch (const Error& error) {
            if (error.errnum() != EEXIST) throw;
            return false;
        }
    }

    // The antecedent is over when the dependency is looked at: in a submission, or later than it was to be.
    void settle(const JobtapJob& job, const Scheme& scheme, const JobtapJob& antecedent,
                const std::string& description) {
        auto why_not = never(scheme, antecedent, description);
        if (job.state == JobState::new_) {
            if (!why_not.empty()) throw Error(EINVAL, why_not);
            add(job, description);
        }
        Waiting waiting(job.id, &scheme, description);
        resolve(waiting, why_not);
    }

    void resolve(const Waiting& waiting, const std::string& why_not) {
        try {
            if (why_not.empty())
                host().dependency_remove(waiting.id, waiting.description);
            else
                host().raise(waiting.id, "dependency", 0, why_not);
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw; // removed before, or the job is over
        }
    }

    template <class F> void release(const JobtapJob& antecedent, F&& concerned) {
        auto found = waiting_.find(antecedent.id);
        if (found == waiting_.end()) return;
        auto dependents = std::move(found->second);
        waiting_.erase(found);
        std::vector<Waiting> rest;
        for (auto& waiting : dependents) {
            if (concerned(waiting))
                resolve(waiting, never(*waiting.scheme, antecedent, waiting.description));
            else
                rest.push_back(std::move(waiting));
        }
        if (!rest.empty()) waiting_[antecedent.id] = std::move(rest);
    }

    void forget(JobId id) {
        auto own = antecedents_.find(id);
        if (own == antecedents_.end()) return;
        for (auto antecedent : own->second) {
            auto found = waiting_.find(antecedent);
            if (found == waiting_.end()) continue;
            std::erase_if(found->second, [&](const Waiting& waiting) { return waiting.id == id; });
            if (found->second.empty()) waiting_.erase(found);
        }
        antecedents_.erase(own);
    }

    std::unordered_map<JobId, std::vector<Waiting>> waiting_;   // by the job that they wait for
    std::unordered_map<JobId, std::vector<JobId>> antecedents_; // by the job that waits
};

} // namespace

std::unique_ptr<JobtapPlugin> make_dependency_after(JobtapHost& host) {
    return std::make_unique<DependencyAfter>(host);
}

} // namespace flux::job_manager
