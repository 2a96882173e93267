#include "inactive.hpp"

#include <flux/duration.hpp>
#include <flux/job_manager_protocol.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

namespace flux::job_manager {

namespace protocol = job_manager_protocol;

namespace {

// Jobs removed in one commit.
constexpr std::size_t purge_batch = 100;

double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

} // namespace

void Inactive::with_all(std::function<void()> callback) {
    if (complete_) return callback();
    waiting_.push_back(std::move(callback));
    if (!std::exchange(reading_, true)) core_.scope.spawn("read inactive jobs", &Inactive::read_all, this);
}

Task<> Inactive::read_all(Inactive* self) {
    try {
        co_await self->read();
    } catch (const Error&) {
        // Those who wait are answered by the end of their requests; the next one tries again.
        self->reading_ = false;
        self->waiting_.clear();
        throw;
    }
    self->complete_ = true;
    self->core_.inactive = static_cast<std::int64_t>(self->entries_.size());
    auto waiting = std::move(self->waiting_);
    for (auto& callback : waiting) callback();
}

Task<> Inactive::read() {
    auto ids = co_await core_.archive.all_ids();
    std::erase_if(ids, [&](JobId id) { return core_.jobs.find(id) || ends_.contains(id); });
    Archive::Visit keep = [this](JobId, std::unique_ptr<Job> job, const Error*) {
        if (!job || job->active()) return;
        add(*job);
        core_.tell_plugins([&](JobtapPlugin& plugin) { plugin.job_inactive_add(view_of(*job)); });
    };
    co_await core_.archive.load_each(std::move(ids), keep);
}

void Inactive::add(const Job& job) {
    if (!reading_) return; // will be found in the store
    if (ends_.try_emplace(job.id, job.last_event).second) entries_.emplace(job.last_event, job.id);
}

void Inactive::configure(JsonView config) {
    Limits limits;
    if (auto age = config.find("job-manager.inactive-age-limit")) {
        auto text = age.try_as<std::string>();
        if (!text) throw Error(EINVAL, "job-manager.inactive-age-limit must be a duration");
        limits.age = parse_duration(*text);
    }
    if (auto number = config.find("job-manager.inactive-num-limit")) {
        auto value = number.try_as<std::int64_t>();
        if (!value || *value < 0) throw Error(EINVAL, "job-manager.inactive-num-limit must be an integer >= 0");
        limits.number = *value;
    }
    limits_ = limits;
}

void Inactive::on_heartbeat() {
    if (!limits_.any() || purging_) return;
    with_all([this] {
        auto count = std::min(over(limits_), purge_batch);
        if (count == 0) return;
        purging_ = true;
        remove_oldest(count, [this] { purging_ = false; });
    });
}

std::size_t Inactive::over(const Limits& limits) const {
    std::size_t count = 0;
    if (limits.number >= 0) {
        auto kept = std::min(entries_.size(), static_cast<std::size_t>(limits.number));
        count = entries_.size() - kept;
    }
    if (limits.age >= 0 && std::isfinite(limits.age)) {
        auto aged = entries_.lower_bound({wall_clock() - limits.age, JobId(0)});
        count = std::max(count, static_cast<std::size_t>(std::distance(entries_.begin(), aged)));
    }
    return count;
}

void Inactive::remove_oldest(std::size_t count, std::function<void()> done) {
    auto end = std::next(entries_.begin(), static_cast<std::ptrdiff_t>(count));
    remove(std::vector<Entry>(entries_.begin(), end), std::move(done));
}

void Inactive::remove(const std::vector<Entry>& entries, std::function<void()> done) {
    auto ids = std::make_shared<Json>(Json::array());
    for (auto& entry : entries) {
        auto id = entry.second;
        entries_.erase(entry);
        ends_.erase(id);
        core_.ledger.transaction().unlink(id.kvs());
        core_.tell_plugins([&](JobtapPlugin& plugin) { plugin.job_inactive_remove(id); });
        ids->append(id);
    }
    core_.inactive = static_cast<std::int64_t>(entries_.size());
    core_.save_checkpoint(); // the highest id may have been among them
    core_.ledger.then([this, ids, done = std::move(done)] {
        core_.handle.publish(protocol::job_purge_event, Json::object("jobs", std::move(*ids)));
        done();
    });
}

void Inactive::purge(Request request) {
    auto payload = request.json();
    Limits limits{payload.get<double>("age_limit"), payload.get<std::int64_t>("num_limit")};
    auto batch = payload.get<std::int64_t>("batch");
    bool force = payload.get<bool>("force");
    if (limits.age < 0 && limits.age != -1) throw Error(EINVAL, "age limit must be >= 0");
    if (limits.number < -1) throw Error(EINVAL, "num limit must be >= 0");
    if (batch < 1 || batch > static_cast<std::int64_t>(purge_batch))
        throw Error(EINVAL, fmt::format("batch must be >= 1 and <= {}", purge_batch));
    with_all([this, request, limits, batch, force] {
        auto count = over(limits);
        if (!force) return request.respond(Json::object("count", count));
        count = std::min(count, static_cast<std::size_t>(batch));
        remove_oldest(count, [request, count] { request.respond(Json::object("count", count)); });
    });
}

void Inactive::purge_id(Request request) {
    auto id = request.json().get<JobId>("id");
    auto flag = request.json()["force"];
    bool force = flag.is_integer() ? flag.as<int>() != 0 : flag.as<bool>();
    if (core_.find_active(id)) throw Error(EINVAL, "cannot purge active job");
    with_all([this, request, id, force] {
        auto found = ends_.find(id);
        if (found == ends_.end()) return request.fail(ENOENT, "id not found");
        if (!force) return request.respond(Json::object("count", 1));
        Entry entry(found->second, id);
        remove(std::vector<Entry>(1, entry), [request] { request.respond(Json::object("count", 1)); });
    });
}

} // namespace flux::job_manager
