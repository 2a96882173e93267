// .history: which jobs a user has submitted, newest first (`flux job last`).
#include "builtins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace flux::job_manager {

std::vector<std::size_t> slice_positions(std::string_view text, std::size_t size) {
    auto bad = [&] { return Error(EINVAL, fmt::format("could not parse slice '{}'", text)); };
    auto inner = text;
    if (inner.size() < 2 || inner.front() != '[' || inner.back() != ']') throw bad();
    inner = inner.substr(1, inner.size() - 2);
    std::optional<std::int64_t> part[3];
    std::size_t parts = 0;
    for (;;) {
        if (parts == 3) throw bad();
        auto number = inner.substr(0, inner.find(':'));
        if (!number.empty()) {
            std::int64_t value = 0;
            auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
            if (error != std::errc() || end != number.data() + number.size()) throw bad();
            part[parts] = value;
        }
        ++parts;
        if (number.size() == inner.size()) break;
        inner.remove_prefix(number.size() + 1);
    }
    auto step = part[2].value_or(1);
    if (parts < 2 || step == 0 || step == INT64_MIN) throw bad();
    auto count = static_cast<std::int64_t>(size);
    auto bound = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
        if (!given) return otherwise;
        auto at = *given < 0 ? std::max(*given, -count - 1) + count : *given;
        return step > 0 ? std::clamp<std::int64_t>(at, 0, count) : std::clamp<std::int64_t>(at, -1, count - 1);
    };
    auto first = bound(part[0], step > 0 ? 0 : count - 1);
    auto last = bound(part[1], step > 0 ? count : -1);
    std::vector<std::size_t> positions;
    for (auto at = first; step > 0 ? at < last : at > last;) {
        positions.push_back(static_cast<std::size_t>(at));
        if (step > count || step < -count) break;
        at += step;
    }
    return positions;
}

namespace {

class History final : public JobtapPlugin {
public:
    explicit History(JobtapHost& host) : JobtapPlugin(host) {
        host.serve("get", MethodClass::read, role_user, [this](Request request) { get(std::move(request)); });
    }

    void job_new(const JobtapJob& job) override { add(job); }
    void job_inactive_add(const JobtapJob& job) override { add(job); }
    void job_inactive_remove(JobId id) override {
        auto found = owners_.find(id);
        if (found == owners_.end()) return;
        auto [userid, t_submit] = found->second;
        owners_.erase(found);
        auto& jobs = users_[userid];
        jobs.erase({t_submit, id});
        if (jobs.empty()) users_.erase(userid);
    }
    void job_destroy(const JobtapJob& job) override {
        if (job.state == JobState::new_) job_inactive_remove(job.id); // rejected
    }

private:
    void add(const JobtapJob& job) {
        if (owners_.try_emplace(job.id, job.userid, job.t_submit).second)
            users_[job.userid].emplace(job.t_submit, job.id);
    }

    void get(Request request) {
        auto slice = request.json().get<std::string>("slice");
        slice_positions(slice, 0);
        host().with_inactive([this, request, slice] {
            std::vector<JobId> newest_first;
            auto& jobs = users_[request.credentials().userid];
            for (auto at = jobs.rbegin(); at != jobs.rend(); ++at) newest_first.push_back(at->second);
            auto chosen = Json::array();
            for (auto at : slice_positions(slice, newest_first.size())) chosen.append(newest_first[at]);
            request.respond(Json::object("jobs", std::move(chosen)));
        });
    }

    std::map<std::uint32_t, std::set<std::pair<double, JobId>>> users_;
    std::map<JobId, std::pair<std::uint32_t, double>> owners_;
};

} // namespace

std::unique_ptr<JobtapPlugin> make_history(JobtapHost& host) { return std::make_unique<History>(host); }

} // namespace flux::job_manager
