#include "coordinator.hpp"

#include <flux/job_exec_protocol.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/overlay_protocol.hpp>
#include <flux/resource_protocol.hpp>
#include <flux/shell_protocol.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux::job_exec {
namespace {

namespace protocol = job_exec_protocol;

Time now() { return std::chrono::steady_clock::now(); }

kvs::WriterOptions primary_options() {
    return kvs::WriterOptions().name_space(kvs_protocol::primary_namespace).flags(kvs_protocol::wait_space);
}

// The eventlog of a job that needs no execution any more.
bool is_released(JsonView eventlog) {
    for (auto event : eventlog.elements()) {
        auto name = event["name"].try_as<std::string_view>();
        if (name == "clean" || (name == "release" && event["context"]["final"].try_as<bool>() == true)) return true;
    }
    return false;
}

} // namespace

Coordinator::Coordinator(Handle& handle, Scope& scope, const Settings& settings, std::uint32_t owner)
    : handle_(handle),
      scope_(scope),
      settings_(settings),
      owner_(owner),
      primary_(handle, primary_options()),
      links_(handle,
             [this] {
                 AgentLinks::Events events;
                 events.on_shells = [this](std::uint32_t rank, JsonView shells, bool all) {
                     on_shells(rank, shells, all);
                 };
                 events.on_down = [this](std::uint32_t rank, const Error& error) { on_down(rank, error); };
                 return events;
             }()),
      absences_(settings, now()),
      absence_timer_(handle.loop(), [this] { judge_absences(); }) {}

Task<> Coordinator::start() {
    auto namespaces = co_await kvs::namespace_list(handle_);
    for (const auto& found : namespaces) {
        auto id =
            found.name.starts_with("job-") ? JobId::try_parse(std::string_view(found.name).substr(4)) : std::nullopt;
        if (id && shell_protocol::guest_namespace(*id) == found.name) namespaces_.insert(*id);
    }
    auto on_event = [this](const Message& message) { on_exception(message); };
    co_await handle_.subscribe(job_manager_protocol::job_exception_event, on_event);
    serve();
    co_await learn_topology();
    using Group = std::pair<const char*, OnMembers>;
    for (auto [group, on_members] : {Group("broker.online", &Coordinator::on_online),
                                     Group(resource_protocol::torpid_group, &Coordinator::on_torpid),
                                     Group(overlay_protocol::node_lost_group, &Coordinator::on_node_lost)})
        scope_.spawn("watch ranks", &Coordinator::watch, this, std::string(group), on_members);
    scope_.spawn(
        "meet job-manager", [](Coordinator* self) { return self->meet_job_manager(); }, this);
    handle_.publish(protocol::up_event, Payload(), flag_private);
}

void Coordinator::serve() {
    handle_.serve(protocol::start, [this](Request request) { start_job(std::move(request)); });
    handle_.serve(protocol::expiration, [this](Request request) { expiration(std::move(request)); });
    handle_.serve(protocol::critical_ranks, [this](Request request) { critical_ranks(std::move(request)); });
    handle_.serve(protocol::override_event, [this](Request request) { override_event(std::move(request)); });
    handle_.serve(protocol::announce,
                  [this](Request request) { links_.connect(request.json().get<std::uint32_t>("rank")); });
}

// job-manager
// ----------------------------------------------------------------------------------------------------------

Task<> Coordinator::meet_job_manager() {
    auto query = Json::object("service", "job-manager");
    auto stream = handle_.stream("service.watch", std::move(query));
    while (auto message = co_await stream.next()) {
        manager_up_ = false;
        if (!message->json().get<bool>("up")) continue;
        try {
            auto hello = Json::object("service", protocol::service);
            co_await handle_.call(job_manager_protocol::exec_hello.topic, std::move(hello));
            manager_up_ = true;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            handle_.log(LogLevel::err, fmt::format("job-manager.exec-hello: {}", error.what()));
        }
        if (manager_up_) judge_soon();
    }
}

void Coordinator::start_job(Request request) {
    auto id = request.json().get<JobId>("id");
    bool reattach = request.json().get<bool>("reattach");
    strangers_.erase(id);
    if (auto entry = find(id)) {
        entry->request = std::move(request);
        scope_.spawn("answer again", &Coordinator::run, this, entry, &Coordinator::answer_again, reattach);
        return;
    }
    EntryPtr entry;
    try {
        entry = make_entry(request);
    } catch (const Error& error) {
        auto exception = Json::object("type", "exec", "severity", 0, "note", error.what());
        request.respond(Json::object("id", id, "type", "exception", "data", std::move(exception)));
        auto release = Json::object("ranks", "all", "final", true);
        request.respond(Json::object("id", id, "type", "release", "data", std::move(release)));
        return;
    }
    jobs_[id] = entry;
    bool known = reattach || namespaces_.contains(id);
    auto course = known ? &Coordinator::recover : &Coordinator::begin;
    scope_.spawn("start job", &Coordinator::run, this, entry, course, reattach);
}

Coordinator::EntryPtr Coordinator::make_entry(Request request) {
    auto entry = std::make_shared<Entry>();
    auto payload = request.json();
    auto& job = entry->job;
    job.id = payload.get<JobId>("id");
    job.userid = payload.get<std::uint32_t>("userid");
    job.guest = job.userid != owner_;
    job.jobspec = payload.get<JsonView>("jobspec").copy();
    job.R = payload.get<JsonView>("R").copy();
    job.resources = ResourceSet::decode(job.R);
    if (job.size() == 0) throw Error(EINVAL, "R names no rank");
    if (MockExecution::wanted(job)) {
        auto mock = std::make_unique<MockExecution>(job, settings_);
        entry->mock = mock.get();
        entry->execution = std::move(mock);
    } else {
        auto shells = std::make_unique<ShellExecution>(job, settings_);
        entry->shells = shells.get();
        entry->execution = std::move(shells);
    }
    entry->log = std::make_unique<GuestLog>(handle_, primary_, job.id, job.userid);
    entry->request = std::move(request);
    return entry;
}

Task<> Coordinator::run(Coordinator* self, EntryPtr entry, Course course, bool reattach) {
    std::optional<Error> failure;
    try {
        co_await (self->*course)(entry, reattach);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        failure = error;
    }
    if (!failure) co_return;
    entry->execution->fail(failure->what(), now());
    self->settle(entry);
}

Task<> Coordinator::begin(EntryPtr entry, bool) {
    auto created = entry->log->create();
    entry->execution->init();
    settle(entry);
    if (entry->shells) co_await look_up_launch(entry);
    if (entry->execution->finished()) co_return;
    entry->execution->begin(now());
    settle(entry);
    co_await created;
}

Task<> Coordinator::recover(EntryPtr entry, bool reattach) {
    bool exists = namespaces_.erase(entry->job.id) > 0;
    auto past = co_await entry->log->recover(exists);
    bool again = !past.started && !past.fatal && !past.complete && !reattach;
    if (again && entry->shells) co_await look_up_launch(entry);
    entry->execution->take_over(past, reattach, now());
    settle(entry);
    if (!entry->shells || entry->execution->finished()) co_return;
    for (auto rank : entry->job.ranks()) links_.greet(rank);
    auto expiration = entry->job.resources.expiration;
    if (expiration > 0) links_.expiration(entry->job.ranks(), entry->job.id, expiration);
}

Task<> Coordinator::answer_again(EntryPtr entry, bool reattach) {
    auto past = co_await entry->log->job_past();
    entry->execution->answer_again(past, reattach);
    settle(entry);
}

Task<> Coordinator::look_up_launch(EntryPtr entry) {
    const auto& job = entry->job;
    auto key = job.id.kvs() + ".J";
    auto options = kvs::LookupOptions().name_space(kvs_protocol::primary_namespace);
    auto value = co_await kvs::lookup(handle_, key, options);
    auto shell = job.jobspec.find("attributes.system.exec.job_shell").try_as<std::string>();
    auto argv = Json::array_of(shell.value_or(settings_.job_shell), job.id.dec());
    auto launch = Json::object("id", job.id, "userid", job.userid, "R", job.R.copy(), "J", value.bytes());
    if (job.guest) {
        if (settings_.imp.empty()) throw Error(EPERM, "exec.imp is not configured, which jobs of guests need");
        argv = Json::array_of(settings_.imp, "exec", argv[0].as<std::string>(), job.id.dec());
        launch.set("env", Json::object("FLUX_IMP_EXEC_HELPER", "flux imp_exec_helper " + job.id.dec()));
    }
    launch.set("argv", std::move(argv));
    entry->launch = std::move(launch);
}

// Methods
// --------------------------------------------------------------------------------------------------------------

Coordinator::EntryPtr Coordinator::find(JobId id) const {
    auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : found->second;
}

Coordinator::EntryPtr Coordinator::find_for(const Request& request, JobId id) const {
    auto entry = find(id);
    if (!entry) throw Error(ENOENT, "unknown job");
    auto credentials = request.credentials();
    if (!credentials.owner() && credentials.userid != entry->job.userid)
        throw Error(EPERM, "guests may only access their own jobs");
    return entry;
}

void Coordinator::expiration(Request request) {
    auto entry = find_for(request, request.json().get<JobId>("id"));
    auto expiration = request.json().get<double>("expiration");
    if (expiration < 0) throw Error(EINVAL, "expiration is in the past");
    entry->job.resources.expiration = expiration;
    if (entry->shells) links_.expiration(entry->job.ranks(), entry->job.id, expiration);
    request.respond();
}

void Coordinator::critical_ranks(Request request) {
    auto entry = find_for(request, request.json().get<JobId>("id"));
    auto ranks = Idset::parse(request.json().get<std::string_view>("ranks"));
    if (!entry->shells || entry->execution->finished()) throw Error(EINVAL, "the job has no shells");
    entry->shells->set_critical(ranks);
    tell_leader(*entry, shell_protocol::critical_ranks, Json::object("ranks", ranks.encode()));
    auto answer = [request](const Error* failure) {
        if (failure)
            request.fail(*failure);
        else
            request.respond();
    };
    settle(entry, answer);
}

void Coordinator::override_event(Request request) {
    auto payload = request.json();
    auto entry = find(payload.get<JobId>("jobid"));
    if (!entry) throw Error(ENOENT, "unknown job");
    if (request.credentials().userid != entry->job.userid) throw Error(EPERM, "this is another user's job");
    if (!entry->mock) throw Error(EINVAL, "job is not in override mode");
    entry->mock->override_event(payload.get<std::string_view>("event"), payload.get_or("status", 0), now());
    settle(entry);
    request.respond();
}

void Coordinator::on_exception(const Message& message) {
    auto payload = message.json();
    auto entry = find(payload.get<JobId>("id"));
    if (!entry) return;
    entry->execution->on_exception(payload.get<std::string_view>("type"), payload.get<int>("severity"),
                                   payload.get_optional<int>("wait_status"), now());
    settle(entry);
}

// What follows
// ---------------------------------------------------------------------------------------------------------

void Coordinator::settle(const EntryPtr& entry, Done done) {
    auto orders = entry->execution->take_orders(now());
    entry->log->append(orders.events, std::move(done));
    carry_out(entry, std::move(orders));
    arm(entry);
    if (!entry->execution->finished() || std::exchange(entry->finishing, true)) return;
    scope_.spawn(
        "finish job", [](Coordinator* self, EntryPtr over) { return self->finish(std::move(over)); }, this, entry);
}

void Coordinator::carry_out(const EntryPtr& entry, Orders orders) {
    auto id = entry->job.id;
    for (auto& [type, data] : orders.answers)
        entry->request.respond(Json::object("id", id, "type", type, "data", std::move(data)));
    if (!orders.launch.empty()) {
        for (auto rank : orders.launch) links_.connect(rank);
        links_.launch(orders.launch, entry->launch.copy());
    }
    if (entry->shells && entry->shells->all_heard()) entry->launch = Json();
    if (!orders.release.empty()) links_.release(orders.release, id, orders.barrier);
    if (!orders.refuse.empty()) links_.release(orders.refuse, id, 0);
    for (const auto& signal : orders.signals) links_.signal(signal.ranks, id, signal.signum);
    if (orders.kill_tasks)
        handle_.publish(shell_protocol::kill_event(id), Json::object("signum", *orders.kill_tasks), flag_private);
    for (const auto& notice : orders.notices) {
        auto payload = Json::object("type", "lost-shell", "severity", notice.severity, "shell_rank", notice.shell);
        if (!notice.message.empty()) payload.set("message", notice.message);
        tell_leader(*entry, shell_protocol::exception, std::move(payload));
    }
    for (auto& order : orders.drains)
        scope_.spawn("drain", &Coordinator::drain, this, entry, std::move(order.ranks), std::move(order.reason),
                     order.give_up);
}

void Coordinator::tell_leader(const Entry& entry, std::string_view method, Json payload) {
    auto leader = entry.shells->leader();
    if (!leader) return;
    auto topic = shell_protocol::service_name(entry.job.userid, entry.job.id) + '.' + std::string(method);
    auto call = handle_.call(topic, std::move(payload), CallOptions().rank(*leader));
    std::move(call).then([](const Message&) {}); // what it makes of it is its own affair
}

void Coordinator::arm(const EntryPtr& entry) {
    auto deadline = entry->execution->finished() ? std::nullopt : entry->execution->deadline();
    if (!deadline) {
        if (entry->timer) entry->timer->stop();
        return;
    }
    if (!entry->timer) {
        entry->timer = std::make_unique<Timer>(handle_.loop(), [this, weak = std::weak_ptr(entry)] {
            auto due = weak.lock();
            if (!due) return;
            due->execution->on_time(now());
            settle(due);
        });
    }
    entry->timer->start(std::max(*deadline - now(), Duration::zero()));
}

Task<> Coordinator::drain(Coordinator* self, EntryPtr entry, Idset ranks, std::string reason, bool give_up) {
    for (;;) {
        bool done = true;
        try {
            auto order = Json::object("targets", ranks.encode(), "reason", reason, "mode", "update");
            co_await self->handle_.call("resource.drain", std::move(order), CallOptions().rank(0));
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            self->handle_.log(LogLevel::err,
                              fmt::format("{}: drain ranks {}: {}", entry->job.id.f58(), ranks.encode(), error.what()));
            done = false;
        }
        if (!give_up) co_return;
        if (done) break;
        co_await sleep_for(self->settings_.kill.kill_timeout);
    }
    entry->shells->on_given_up(ranks);
    self->settle(entry);
}

// Nothing of the job is left to do but to put its log away.
Task<> Coordinator::finish(EntryPtr entry) {
    auto id = entry->job.id;
    try {
        co_await entry->log->finish();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        handle_.log(LogLevel::err, fmt::format("{}: copy of the guest namespace: {}", id.f58(), error.what()));
    }
    auto release = Json::object("ranks", "all", "final", true);
    entry->request.respond(Json::object("id", id, "type", "release", "data", std::move(release)));
    if (entry->shells) links_.forget(entry->job.ranks(), id);
    jobs_.erase(id);
}

// Agents
// ---------------------------------------------------------------------------------------------------------------

void Coordinator::on_shells(std::uint32_t rank, JsonView shells, bool all) {
    doubtful_.clear(rank);
    absences_.heard(rank);
    std::set<JobId> told;
    std::set<EntryPtr> touched;
    for (auto element : shells.elements()) {
        auto report = ShellReport::decode(element);
        told.insert(report.id);
        auto entry = find(report.id);
        if (!entry) {
            on_stranger(rank, report);
        } else if (entry->shells) {
            entry->shells->on_report(rank, report);
            touched.insert(std::move(entry));
        }
    }
    if (all) {
        for (const auto& [id, entry] : jobs_) {
            if (!entry->shells || told.contains(id) || !entry->shells->active_on(rank)) continue;
            entry->shells->on_absent(rank);
            touched.insert(entry);
        }
    }
    for (const auto& entry : touched) settle(entry);
}

bool Coordinator::wanted(std::uint32_t rank) const {
    return std::any_of(jobs_.begin(), jobs_.end(),
                       [&](const auto& job) { return job.second->shells && job.second->shells->active_on(rank); });
}

void Coordinator::on_down(std::uint32_t rank, const Error& error) {
    if (!wanted(rank)) return;
    if (error.errnum() == ECONNRESET) return links_.greet(rank); // reloaded
    if (error.errnum() == ENOSYS) {
        // Shells that run are still there when the agent comes back, and it will say so.
        absences_.without_agent(rank);
        for (const auto& [id, entry] : std::unordered_map(jobs_)) {
            if (!entry->shells || !entry->shells->unheard_on(rank)) continue;
            entry->shells->on_lost(rank, Loss::agent);
            settle(entry);
        }
        return;
    }
    if (error.errnum() != EHOSTUNREACH) {
        handle_.log(LogLevel::err, fmt::format("exec-agent of rank {}: {}", rank, error.what()));
        return lose(rank, Loss::agent);
    }
    // A module that was removed ends its requests like a broker that is lost: ask once more.
    if (!doubtful_.test(rank)) {
        doubtful_.set(rank);
        return links_.greet(rank);
    }
    doubtful_.clear(rank);
    absences_.out_of_reach(rank, error.what(), now());
    judge_absences();
}

void Coordinator::judge_absences() {
    for (const auto& verdict : absences_.verdicts(now())) lose(verdict.rank, verdict.loss, verdict.why);
    if (auto deadline = absences_.deadline()) absence_timer_.start(std::max(*deadline - now(), Duration::zero()));
}

void Coordinator::lose(std::uint32_t rank, Loss loss, const std::string& why) {
    for (const auto& [id, entry] : std::unordered_map(jobs_)) {
        if (!entry->shells || !entry->shells->active_on(rank)) continue;
        entry->shells->on_lost(rank, loss, why);
        settle(entry);
    }
}

Task<> Coordinator::learn_topology() {
    auto query = Json::object("rank", 0);
    auto topology = co_await handle_.call("overlay.topology", std::move(query));
    std::unordered_map<std::uint32_t, std::uint32_t> parents;
    std::vector<JsonView> brokers(1, topology.json());
    while (!brokers.empty()) {
        auto broker = brokers.back();
        brokers.pop_back();
        auto rank = broker.get<std::uint32_t>("rank");
        for (auto child : broker["children"].elements()) {
            if (rank != 0) parents[child.get<std::uint32_t>("rank")] = rank;
            brokers.push_back(child);
        }
    }
    absences_.set_parents(std::move(parents));
}

Task<> Coordinator::watch(Coordinator* self, std::string group, OnMembers on_members) {
    auto query = Json::object("name", group);
    auto stream = self->handle_.stream("groups.get", std::move(query));
    while (auto message = co_await stream.next()) {
        (self->*on_members)(message->json().get<Idset>("members"));
        self->judge_absences();
    }
}

void Coordinator::on_online(const Idset& members) {
    for (auto rank : absences_.set_online(members, now())) links_.greet(rank);
}

void Coordinator::on_torpid(const Idset& members) {
    for (auto rank : absences_.set_torpid(members, now())) links_.greet(rank);
}

void Coordinator::on_node_lost(const Idset& members) { absences_.set_node_lost(members); }

// Leftovers
// ------------------------------------------------------------------------------------------------------------

void Coordinator::on_stranger(std::uint32_t rank, const ShellReport& report) {
    strangers_[report.id].set(rank);
    if (manager_up_) judge_soon();
}

// One judgement at a time; who comes while it is made is looked at in the next.
void Coordinator::judge_soon() {
    if (std::exchange(judge_again_, true) || judging_) return;
    scope_.spawn(
        "judge shells", [](Coordinator* self) { return self->judge(); }, this);
}

Task<> Coordinator::judge() {
    judging_ = true;
    while (std::exchange(judge_again_, false)) co_await judge_strangers();
    judging_ = false;
}

Task<bool> Coordinator::is_over(JobId id) {
    try {
        auto query = Json::object("id", id, "attrs", Json::array_of("eventlog"));
        auto answer = co_await handle_.call(job_manager_protocol::getattr.topic, std::move(query));
        co_return is_released(answer.json()["eventlog"]);
    } catch (const Error& error) {
        if (error.errnum() != EINVAL && error.errnum() != ENOENT) throw;
    }
    co_return true;
}

// A job that job-manager does not know, or knows as over, has no business here; any other will be started (again).
Task<> Coordinator::judge_strangers() {
    std::set<JobId> ids = namespaces_;
    for (const auto& [id, ranks] : strangers_) ids.insert(id);
    for (auto id : ids) {
        bool over = false;
        try {
            over = co_await is_over(id);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            handle_.log(LogLevel::debug, fmt::format("{}: job-manager: {}, ignoring", id.f58(), error.what()));
            break;
        }
        if (!over || find(id)) continue;
        if (auto shells = strangers_.extract(id)) {
            handle_.log(LogLevel::warning, fmt::format("{}: this job is over, ending its shells on ranks {}", id.f58(),
                                                       shells.mapped().encode()));
            links_.end(shells.mapped(), id);
        }
        if (namespaces_.erase(id)) {
            auto removal = kvs::namespace_remove(handle_, shell_protocol::guest_namespace(id));
            std::move(removal).then([](const Message&) {});
        }
    }
}

Json Coordinator::stats() const {
    auto stats = settings_.to_json();
    auto jobs = Json::object();
    for (const auto& [id, entry] : jobs_) {
        auto job = entry->execution->stats();
        job.set("ns", shell_protocol::guest_namespace(id));
        job.set("has_namespace", 1);
        jobs.set(id.f58(), std::move(job));
    }
    stats.set("jobs", std::move(jobs));
    return stats;
}

} // namespace flux::job_exec
