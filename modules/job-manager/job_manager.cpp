// job-manager, on rank 0: jobs from their acceptance to their end. Everything on the module's thread; what is durable,
// and what follows at reload: README.md. Fatal: the store refuses a commit, upon which the module starts over.
#include "control.hpp"
#include "core.hpp"
#include "exec.hpp"
#include "inactive.hpp"
#include "jobtap.hpp"
#include "journal.hpp"
#include "queries.hpp"
#include "sched.hpp"
#include "submissions.hpp"
#include "updates.hpp"
#include "waits.hpp"

#include <flux/job_manager_protocol.hpp>
#include <flux/module.hpp>

#include <fmt/format.h>

#include <cerrno>

namespace flux::job_manager {

namespace {

namespace protocol = job_manager_protocol;

class JobManager final : public Module, Surroundings {
public:
    explicit JobManager(ModuleContext& context)
        : Module(context),
          core_(handle(), scope(), *this),
          sched_(core_),
          exec_(core_),
          journal_(core_),
          waits_(core_, [this](Job& job) { remove(job); }),
          submissions_(core_, [this](Job& job) { on_taken(job); }),
          control_(core_),
          queries_(core_, sched_),
          updates_(core_, exec_),
          inactive_(core_),
          jobtap_(core_, inactive_, [this] { return this->config(); }) {}

    Task<> start() override;
    Task<> stop() override;
    Json stats() override;
    void config_changed(JsonView config) override;
    std::optional<Json> park(const Request& request) override;
    void resume(Request request, JsonView cursor) override;

private:
    void serve_all();
    void configure(JsonView config);
    Task<> restore(Json checkpoint);
    void adopt_all(Json checkpoint, std::vector<std::unique_ptr<Job>> jobs);

    void on_event(const Job& job, const EventlogEntry& entry) override;
    void on_exception(const Job& job, const EventlogEntry& entry) override { publish_exception(handle(), job, entry); }
    void on_settled(Job& job) override;
    void on_trouble(const std::string& text) override { log(LogLevel::err, text); }
    void on_store_failure(const Error& error) override;
    void on_taken(Job& job);
    void remove(Job& job);

    Task<> submit(Request request) { return submissions_.submit(std::move(request)); }
    void stats_get(Request request);
    void getinfo(Request request) { submissions_.getinfo(std::move(request)); }
    void list(Request request) { queries_.list(std::move(request)); }
    Task<> getattr(Request request) { return queries_.getattr(std::move(request)); }
    void raise(Request request) { control_.raise(std::move(request)); }
    void raiseall(Request request) { control_.raiseall(std::move(request)); }
    void kill(Request request) { control_.kill(std::move(request)); }
    void killall(Request request) { control_.killall(std::move(request)); }
    void urgency(Request request) { control_.urgency(std::move(request)); }
    void memo(Request request) { control_.memo(std::move(request)); }
    Task<> update(Request request) { return updates_.update(std::move(request)); }
    void purge(Request request) { inactive_.purge(std::move(request)); }
    void purge_id(Request request) { inactive_.purge_id(std::move(request)); }
    void wait(Request request) { waits_.wait(std::move(request)); }
    void events_journal(Request request) { journal_.listen(std::move(request)); }
    void events_journal_cancel(Request request) { journal_.cancel(request); }
    void drain(Request request) { queries_.drain(std::move(request)); }
    void idle(Request request) { queries_.idle(std::move(request)); }
    void queue_list(Request request) { request.respond(Json::object("queues", Json(core_.queues.names()))); }
    void queue_status(Request request);
    void queue_enable(Request request);
    void queue_start(Request request);
    void queues_changed(const Request& request);
    void alloc_query(Request request) { sched_.query(std::move(request)); }
    void sched_hello(Request request) { sched_.hello(std::move(request)); }
    void sched_ready(Request request) { sched_.ready(std::move(request)); }
    void resource_status(Request request) { sched_.resource_status(std::move(request)); }
    void exec_hello(Request request) { exec_.hello(std::move(request)); }
    Task<> jobtap(Request request) { return jobtap_.change(std::move(request)); }
    void jobtap_query(Request request) { jobtap_.query(std::move(request)); }
    void disconnect(Request request);

    Core core_;
    Sched sched_;
    Exec exec_;
    Journal journal_;
    Waits waits_;
    Submissions submissions_;
    Control control_;
    Queries queries_;
    Updates updates_;
    Inactive inactive_;
    Jobtap jobtap_;
};

void JobManager::serve_all() {
    serve(protocol::submit, &JobManager::submit);
    serve(protocol::getinfo, &JobManager::getinfo);
    serve(protocol::stats_get, &JobManager::stats_get);
    serve(protocol::list, &JobManager::list);
    serve(protocol::getattr, &JobManager::getattr);
    serve(protocol::raise, &JobManager::raise);
    serve(protocol::raiseall, &JobManager::raiseall);
    serve(protocol::kill, &JobManager::kill);
    serve(protocol::killall, &JobManager::killall);
    serve(protocol::urgency, &JobManager::urgency);
    serve(protocol::memo, &JobManager::memo);
    serve(protocol::update, &JobManager::update);
    serve(protocol::purge, &JobManager::purge);
    serve(protocol::purge_id, &JobManager::purge_id);
    serve(protocol::wait, &JobManager::wait);
    serve(protocol::events_journal, &JobManager::events_journal);
    serve(protocol::events_journal_cancel, &JobManager::events_journal_cancel);
    serve(protocol::drain, &JobManager::drain);
    serve(protocol::idle, &JobManager::idle);
    serve(protocol::queue_list, &JobManager::queue_list);
    serve(protocol::queue_status, &JobManager::queue_status);
    serve(protocol::queue_enable, &JobManager::queue_enable);
    serve(protocol::queue_start, &JobManager::queue_start);
    serve(protocol::alloc_query, &JobManager::alloc_query);
    serve(protocol::sched_hello, &JobManager::sched_hello);
    serve(protocol::sched_ready, &JobManager::sched_ready);
    serve(protocol::resource_status, &JobManager::resource_status);
    serve(protocol::exec_hello, &JobManager::exec_hello);
    serve(protocol::jobtap, &JobManager::jobtap);
    serve(protocol::jobtap_query, &JobManager::jobtap_query);
    serve(protocol::disconnect, &JobManager::disconnect);
}

Task<> JobManager::start() {
    serve_all();
    core_.owner = static_cast<std::uint32_t>(std::stoul(attr("security.owner")));
    configure(config());
    auto checkpoint = co_await core_.archive.checkpoint();
    co_await jobtap_.start(checkpoint["jobtap"]);
    co_await restore(std::move(checkpoint));
    co_await handle().subscribe("heartbeat.pulse", [this](const Message&) { inactive_.on_heartbeat(); });
}

// What is in the store: active jobs, results nobody has fetched.
Task<> JobManager::restore(Json checkpoint) {
    auto ids = co_await core_.archive.marked_ids();
    bool marked = ids.has_value();
    // Another Flux has filled this store, or nobody has.
    if (!marked) ids = co_await core_.archive.all_ids();
    std::vector<std::unique_ptr<Job>> jobs;
    std::vector<JobId> lost;
    Archive::Visit keep = [&](JobId id, std::unique_ptr<Job> job, const Error* failure) {
        if (failure) {
            log(LogLevel::err, fmt::format("{}: cannot be read, moved to lost+found: {}", id.f58(), failure->what()));
            lost.push_back(id);
        }
        if (!job) return;
        core_.max_id = std::max(core_.max_id, id);
        if (job->active() || (marked && job->waitable()))
            jobs.push_back(std::move(job));
        else if (!marked)
            ++core_.inactive;
    };
    co_await core_.archive.load_each(std::move(*ids), keep);
    for (auto id : lost) {
        auto key = id.kvs();
        auto directory = co_await kvs::lookup(handle(), key, kvs::LookupOptions().treeobj());
        auto found = "job-lost+found.job." + id.f58plain();
        core_.ledger.transaction().put_treeobj(found, directory.object()).unlink(key).unlink(active_key(id));
    }
    if (!marked && core_.max_id > JobId(0)) {
        core_.ledger.transaction().mkdir(active_directory);
        for (auto& job : jobs) core_.ledger.transaction().put(active_key(job->id), "");
    }
    // Jobs that are over and that dependencies refer to.
    std::vector<JobId> references;
    for (auto& job : jobs) {
        if (job->state != JobState::depend) continue;
        core_.tell_plugins([&](JobtapPlugin& plugin) { plugin.job_references(view_of(*job), references); });
    }
    Archive::Visit refer = [this](JobId id, std::unique_ptr<Job> job, const Error*) {
        if (job && !job->active()) core_.references[id] = std::move(job);
    };
    if (!references.empty()) co_await core_.archive.load_each(std::move(references), refer);
    adopt_all(std::move(checkpoint), std::move(jobs));
    core_.references.clear();
}

void JobManager::adopt_all(Json checkpoint, std::vector<std::unique_ptr<Job>> jobs) {
    core_.max_id = std::max(core_.max_id, checkpoint.get_or("max_jobid", JobId(0)));
    core_.epoch = checkpoint.get_or("epoch", 0.0);
    core_.inactive += checkpoint.get_or<std::int64_t>("inactive_jobs", 0);
    core_.queues.restore(checkpoint["queue"]);
    submissions_.set_known(core_.max_id);
    // What has lived through a restart of the instance, not just of this module, is told.
    core_.starttime = std::strtod(attr("broker.starttime").c_str(), nullptr);
    bool restarted = checkpoint.get_or("starttime", core_.starttime) != core_.starttime;
    if (restarted && config().find("job-manager.stop-queues-on-restart").try_as<bool>().value_or(false)) {
        core_.queues.stop_all("Automatically stopped due to restart");
        core_.save_checkpoint();
    }
    std::vector<JobId> ids;
    for (auto& job : jobs) {
        ids.push_back(job->id);
        if (core_.epoch == 0) core_.epoch = job->t_submit - static_cast<double>(job->id.timestamp()) / 1000;
        if (job->waitable()) waits_.on_job(*job);
        core_.jobs.add(std::move(job));
    }
    core_.engine.adopt(ids, core_.starttime);
}

// Everything is written and told before the next instance, if any, reads it.
Task<> JobManager::stop() {
    core_.checkpoint_dirty = core_.max_id > JobId(0);
    if (core_.checkpoint_dirty) core_.save_checkpoint();
    while (!core_.ledger.idle()) {
        core_.flush();
        co_await core_.writer.drained();
    }
    co_await core_.plugins.clear();
}

void JobManager::on_event(const Job& job, const EventlogEntry& entry) {
    journal_.on_event(job, entry);
    if (entry.name == "resource-update") updates_.on_resource_update(job);
}

void JobManager::on_settled(Job& job) {
    sched_.on_settled(job);
    exec_.on_settled(job);
    if (!job.active()) {
        ++core_.inactive;
        inactive_.add(job);
        core_.checkpoint_dirty = true; // with the next batch: a crash may lose the count, which is only told
        auto view = view_of(job);
        core_.tell_plugins([&](JobtapPlugin& plugin) { plugin.job_inactive_add(view); });
        core_.tell_plugins([&](JobtapPlugin& plugin) { plugin.job_destroy(view); });
        if (job.waitable())
            waits_.on_ended(job);
        else
            remove(job);
    }
    queries_.on_change();
}

void JobManager::on_taken(Job& job) {
    if (job.waitable()) waits_.on_job(job);
}

void JobManager::remove(Job& job) {
    journal_.on_removed(job);
    core_.jobs.remove(job.id);
}

// What was not told can be forgotten: the next instance reads what is there.
void JobManager::on_store_failure(const Error& error) {
    log(LogLevel::crit, fmt::format("cannot write job events, starting over: {}", error.what()));
    handle().notify("module.reload", Json::object("name", name()));
}

void JobManager::stats_get(Request request) {
    core_.require_public(request);
    request.respond(stats());
}

Json JobManager::stats() {
    return Json::object(
        "journal", journal_.stats(), "active_jobs", core_.jobs.count(job_states_active | 1), "inactive_jobs",
        core_.inactive, "max_jobid", core_.max_id, "housekeeping",
        Json::object("running", Json::object(), "config", Json::object("release-after", -1.0, "command", "")));
}

void JobManager::configure(JsonView config) {
    inactive_.configure(config);
    core_.queues.configure(config);
    core_.private_mode = config.find("access.private-mode").try_as<bool>().value_or(false);
}

void JobManager::config_changed(JsonView config) {
    core_.plugins.each([&](JobtapPlugin& plugin) { plugin.conf_update(config); });
    configure(config);
    sched_.on_queues_changed();
}

std::optional<Json> JobManager::park(const Request& request) {
    if (request.message().topic == protocol::events_journal.topic) return journal_.park(request);
    if (request.message().topic == protocol::wait.topic) return waits_.park(request);
    return std::nullopt;
}

void JobManager::resume(Request request, JsonView cursor) {
    if (request.message().topic == protocol::events_journal.topic) return journal_.resume(std::move(request), cursor);
    waits_.resume(std::move(request), cursor);
}

void JobManager::queue_status(Request request) {
    auto name = request.json_or_none().get_optional<std::string>("name");
    request.respond(core_.queues.status(std::move(name), sched_.online()));
}

void JobManager::queue_enable(Request request) {
    core_.queues.enable(request.json());
    queues_changed(request);
}

void JobManager::queue_start(Request request) {
    core_.queues.start(request.json());
    sched_.on_queues_changed();
    queues_changed(request);
}

void JobManager::queues_changed(const Request& request) {
    core_.save_checkpoint();
    core_.ledger.then([request] { request.respond(); });
}

void JobManager::disconnect(Request request) {
    journal_.disconnect(request);
    waits_.disconnect(request);
    queries_.disconnect(request);
    sched_.disconnect(request);
    exec_.disconnect(request);
}

} // namespace

} // namespace flux::job_manager

FLUX_MODULE(flux::job_manager::JobManager, "job-manager")
