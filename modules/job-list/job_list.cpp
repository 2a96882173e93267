// modules/job-list — which jobs there are, for those who list them. Everything here is derived from job-manager's
// journal; reload: read again.
#include "attributes.hpp"
#include "filter.hpp"
#include "table.hpp"

#include <flux/job_list_protocol.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/kvs.hpp>
#include <flux/module.hpp>
#include <flux/service_watch.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <deque>

using namespace std::chrono_literals;

namespace flux::job_list {
namespace {

namespace protocol = job_list_protocol;

// How often streams of statistics are told of changes.
constexpr auto stats_period = 200ms;
constexpr std::size_t default_max_hosts = 1024;

} // namespace

class JobList final : public Module {
public:
    using Module::Module;

    Task<> start() override {
        config_changed(config());
        serve(protocol::list, &JobList::list);
        serve(protocol::list_id, &JobList::list_id);
        serve(protocol::list_attrs, &JobList::list_attrs);
        serve(protocol::job_stats, &JobList::job_stats);
        serve(protocol::job_stats_cancel, &JobList::job_stats_cancel);
        serve(protocol::job_state_pause, &JobList::job_state_pause);
        serve(protocol::job_state_unpause, &JobList::job_state_unpause);
        serve_stats(protocol::stats_get);
        serve(protocol::disconnect, &JobList::disconnect);
        auto on_purge = [this](const Message& event) { purge(event.json()); };
        co_await handle().subscribe(job_manager_protocol::job_purge_event, on_purge);
        job_manager_.emplace(handle(), scope(), "job-manager");
        spawn("journal", &JobList::follow_journal, this);
    }

    void config_changed(JsonView config) override {
        FilterRules rules;
        rules.max_hosts = std::max<std::size_t>(size(), default_max_hosts);
        auto table = config["job-list"];
        if (auto limit = table.get_optional<std::int64_t>("max_comparisons")) {
            if (*limit < 0) throw Error(EINVAL, "job-list.max_comparisons must be >= 0");
            rules.max_comparisons = static_cast<std::size_t>(*limit);
        }
        for (auto [name, queue] : config["queues"].members())
            if (auto parent = queue["parent"].try_as<std::string>()) rules.parents.emplace(name, *parent);
        rules_ = std::move(rules);
        private_mode_ = config.find("access.private-mode").try_as<bool>().value_or(false);
    }

    Json stats() override {
        const auto& counts = table_->counts();
        std::size_t waits = 0;
        for (const auto& [id, list] : waits_) waits += list.size();
        return Json::object(
            "jobs",
            Json::object("pending", counts.in(job_states_pending), "running", counts.in(job_states_running), "inactive",
                         counts.in(static_cast<int>(JobState::inactive))),
            "idsync", Json::object("lookups", lookups_, "waits", waits), "stats_watchers", stats_watchers_.size());
    }

    std::optional<Json> park(const Request& request) override {
        if (request.message().topic == protocol::job_stats.topic) return Json::object();
        return std::nullopt;
    }

    void resume(Request request, JsonView) override { stats_watchers_.add(std::move(request)); }

private:
    // The journal ---------------------------------------------------------------------------------------------------

    Task<> follow_journal() {
        std::uint64_t tried = 0;
        for (;;) {
            co_await job_manager_->up_since(tried);
            tried = job_manager_->changes();
            auto options = CallOptions().cancel_topic(std::string(job_manager_protocol::events_journal_cancel.topic));
            auto stream = handle().stream(job_manager_protocol::events_journal.topic, Json::object("full", true),
                                          std::move(options));
            fresh_ = std::make_unique<Table>();
            try {
                while (auto response = co_await stream.next()) {
                    tried = 0;
                    take(std::move(*response));
                }
            } catch (const Cancelled&) {
                throw;
            } catch (const Error& error) {
                log(LogLevel::info, fmt::format("no journal of jobs: {}", error.what()));
            }
        }
    }

    void take(Message response) {
        if (paused_)
            held_.push_back(std::move(response));
        else
            apply(response.json());
    }

    // While the backlog comes, what was known before is told.
    void apply(JsonView answer) {
        auto id = answer.get<JobId>("id");
        if (id == JobId::any()) {
            if (!fresh_) return;
            table_ = std::move(fresh_);
            become_ready();
            return;
        }
        auto& table = fresh_ ? *fresh_ : *table_;
        try {
            table.apply(answer);
        } catch (const Error& error) {
            log(LogLevel::err, fmt::format("event of job {}, ignoring", error.what()));
        }
        if (fresh_) return;
        answer_waits(id);
        stats_changed();
    }

    void become_ready() {
        ready_ = true;
        for (auto& [request, handler] : std::exchange(early_, {})) {
            try {
                (this->*handler)(request);
            } catch (const Error& error) {
                request.fail(error);
            }
        }
        std::vector<JobId> ids;
        for (const auto& [id, list] : waits_) ids.push_back(id);
        for (auto id : ids) answer_waits(id);
        stats_changed();
    }

    // True: the request is kept until the jobs are known.
    using Handler = void (JobList::*)(Request);
    bool is_early(const Request& request, Handler handler) {
        if (!ready_) early_.emplace_back(request, handler);
        return !ready_;
    }

    void purge(JsonView event) {
        for (auto element : event["jobs"].elements()) {
            auto id = element.as<JobId>();
            table_->purge(id);
            if (fresh_) fresh_->purge(id);
        }
        stats_changed();
    }

    // Methods -------------------------------------------------------------------------------------------------------

    bool restricted(const Request& request) const {
        return private_mode_ && !(request.credentials().rolemask & (role_owner | role_admin));
    }

    void list(Request request) {
        auto payload = request.json();
        auto limit = payload.get<std::int64_t>("max_entries");
        auto since = payload.get_or("since", 0.0);
        if (limit < 0) throw Error(EPROTO, "invalid payload: max_entries < 0 not allowed");
        if (since < 0) throw Error(EPROTO, "invalid payload: since < 0.0 not allowed");
        AttributeSet attributes(payload.get<JsonView>("attrs"));
        auto filter = filter_of(request, payload["constraint"]);
        if (is_early(request, &JobList::list)) return;
        auto jobs = table_->select(filter, static_cast<std::size_t>(limit), since);
        if (!request.streaming()) {
            auto described = Json::array();
            for (const auto* job : jobs) described.append(attributes.describe(*job));
            request.respond(Json::object("jobs", std::move(described)));
            return;
        }
        bool first = true;
        for (const auto* job : jobs) {
            auto answer = Json::object("jobs", Json::array_of(attributes.describe(*job)));
            if (std::exchange(first, false)) answer.set("version", 1);
            request.respond(std::move(answer));
        }
        request.end();
    }

    Filter filter_of(const Request& request, JsonView constraint) const {
        if (!restricted(request)) {
            if (!constraint) return Filter();
            return Filter(constraint, rules_);
        }
        auto own = Json::array_of(Json::object("userid", Json::array_of(request.credentials().userid)));
        if (constraint) own.append(constraint.copy());
        return Filter(Json::object("and", std::move(own)), rules_);
    }

    void list_id(Request request) {
        auto payload = request.json();
        auto id = payload.get<JobId>("id");
        Wait wait(AttributeSet(payload.get<JsonView>("attrs")), payload.get_or("state", 0));
        if (is_early(request, &JobList::list_id)) return;
        if (!table_->find(id)) spawn("look for a job", &JobList::look_for, this, request, id);
        waits_[id].add(std::move(request), std::move(wait));
        answer_waits(id);
    }

    // A job that the journal has not told of yet may be in the KVS by now.
    Task<> look_for(Request request, JobId id) {
        ++lookups_;
        Error failure(ENOENT);
        try {
            auto options = kvs::LookupOptions().name_space(kvs_protocol::primary_namespace);
            co_await kvs::lookup(handle(), id.kvs() + ".J", options);
            co_return;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure = Error(error.errnum());
        }
        if (table_->find(id)) co_return;
        drop_wait(id, request);
        if (!request.answered()) request.fail(failure);
    }

    void drop_wait(JobId id, const Request& request) {
        auto found = waits_.find(id);
        if (found == waits_.end()) return;
        found->second.remove_if([&](auto& entry) { return &entry.request.message() == &request.message(); });
        if (found->second.empty()) waits_.erase(found);
    }

    void answer_waits(JobId id) {
        auto found = waits_.find(id);
        const auto* job = table_->find(id);
        if (found == waits_.end() || !job) return;
        found->second.remove_if([&](auto& entry) {
            if (restricted(entry.request) && entry.request.credentials().userid != job->userid) {
                entry.request.fail(ENOENT);
                return true;
            }
            auto state = entry.data.state;
            if (state != 0 && !(job->states_seen & state) && job->state != JobState::inactive) return false;
            entry.request.respond(Json::object("job", entry.data.attributes.describe(*job)));
            return true;
        });
        if (found->second.empty()) waits_.erase(found);
    }

    void list_attrs(Request request) { request.respond(Json::object("attrs", attribute_names())); }

    void job_stats(Request request) {
        if (restricted(request)) throw Error(EPERM);
        if (is_early(request, &JobList::job_stats)) return;
        request.respond(table_->counts().to_json());
        if (request.streaming()) stats_watchers_.add(std::move(request));
    }
    void job_stats_cancel(Request request) { stats_watchers_.cancel(request); }

    void stats_changed() {
        if (!stats_watchers_.empty() && !stats_timer_.active()) stats_timer_.start(stats_period);
    }

    void send_stats() {
        auto payload = Payload::from_json(table_->counts().to_json());
        stats_watchers_.for_each([&](auto& entry) { entry.request.respond(payload); });
    }

    void job_state_pause(Request request) {
        paused_ = true;
        request.respond();
    }

    void job_state_unpause(Request request) {
        paused_ = false;
        for (const auto& message : std::exchange(held_, {})) apply(message.json());
        request.respond();
    }

    void disconnect(Request request) {
        stats_watchers_.disconnect(request);
        for (auto& [id, list] : waits_) list.disconnect(request);
        std::erase_if(waits_, [](const auto& wait) { return wait.second.empty(); });
        std::erase_if(early_, [&](const auto& entry) {
            if (!entry.first.same_sender(request)) return false;
            entry.first.drop();
            return true;
        });
    }

    /// What a list-id waits for.
    class Wait {
    public:
        Wait(AttributeSet attributes, int state) : attributes(std::move(attributes)), state(state) {}
        AttributeSet attributes;
        int state;
    };

    FilterRules rules_;
    bool private_mode_ = false;
    std::optional<ServiceWatch> job_manager_;

    std::unique_ptr<Table> table_ = std::make_unique<Table>();
    std::unique_ptr<Table> fresh_; // while the backlog comes
    bool ready_ = false;
    bool paused_ = false;
    std::deque<Message> held_; // while paused
    std::vector<std::pair<Request, Handler>> early_;
    std::unordered_map<JobId, RequestList<Wait>> waits_;
    std::uint64_t lookups_ = 0;
    RequestList<char> stats_watchers_;
    Timer stats_timer_{loop(), [this] { send_stats(); }};
};

} // namespace flux::job_list

FLUX_MODULE(flux::job_list::JobList, "job-list")
