#include "service/service.hpp"

#include <flux/job_manager_protocol.hpp>
#include <flux/kvs.hpp>
#include <flux/resource_protocol.hpp>
#include <flux/sched_protocol.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

using namespace std::chrono_literals;

namespace flux::sched_service {
namespace {

namespace protocol = sched_protocol;

// Jobs started in one pass; messages are looked at between passes.
constexpr std::size_t pass_limit = 256;
// How long nothing must have been decided before starts are estimated, and how small a part of the time that may take.
constexpr auto forecast_delay = 100ms;
constexpr int forecast_share = 20;

enum DebugBit : std::uint64_t { fail_alloc = 1, annotate_pending = 2, refuse_expiration = 4 };

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string R_key(JobId id) { return id.kvs() + ".R"; }

} // namespace

Service::Service(ModuleContext& context, std::string default_depth)
    : Module(context),
      default_depth_(std::move(default_depth)),
      forecast_timer_(loop(), [this] { forecast(); }),
      writer_(handle(),
              kvs::WriterOptions().name_space(kvs_protocol::primary_namespace).flags(kvs_protocol::wait_space)) {}

Task<> Service::start() {
    options_.emplace(args(), default_depth_);
    co_await add_service("sched");
    co_await add_service("feasibility");
    serve(protocol::alloc, &Service::alloc);
    serve(protocol::cancel, &Service::cancel);
    serve(protocol::prioritize, &Service::prioritize);
    serve(protocol::free, &Service::free);
    serve(protocol::expiration, &Service::expiration);
    serve(protocol::resource_status, &Service::resource_status);
    serve(feasibility_protocol::check, &Service::check_feasible);
    resource_.emplace(handle(), scope(), "resource");
    // A job manager that comes or goes knows nothing of us.
    job_manager_.emplace(handle(), scope(), "job-manager", [this] { begin_anew(); });
    spawn("resources", &Service::follow_resources, this);
    spawn("hello", &Service::greet_when_needed, this);
}

Task<> Service::stop() {
    for (auto& [id, request] : requests_) request.drop();
    co_return;
}

Json Service::stats() {
    return Json::object("sched_passes", passes_, "sched_yields", yields_, "forecast_passes", forecasts_,
                        "forecast_yields", 0, "sched_duration_ewma", pass_time_, "pending_jobs",
                        scheduler_ ? scheduler_->pending() : 0);
}

void Service::debug_changed(std::uint64_t bits) {
    debug_ = bits;
    if (!scheduler_) return;
    scheduler_->deny_all(bits & fail_alloc);
    scheduler_->annotate_pending(bits & annotate_pending);
}

// Resources -------------------------------------------------------------------------------------------------------

Task<> Service::follow_resources() {
    std::uint64_t tried = 0;
    for (;;) {
        co_await resource_->up_since(tried);
        tried = resource_->changes();
        auto options = CallOptions().cancel_topic(std::string(resource_protocol::acquire_cancel.topic));
        auto stream = handle().stream(resource_protocol::acquire.topic, Payload(), std::move(options));
        std::string why = "the stream has ended";
        try {
            while (auto response = co_await stream.next()) change_resources(response->json());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            why = error.what();
        }
        log(LogLevel::info, fmt::format("no resources: {}", why));
        if (!resources_) continue; // refused: not before there is another instance
        tried = 0;
        resources_.reset();
        begin_anew();
    }
}

void Service::change_resources(JsonView change) {
    if (auto R = change["resources"]) {
        resources_ = ResourceSet::decode(R);
        up_ = change.get<Idset>("up");
        begin_anew();
        return;
    }
    auto ranks = [&](const char* key) { return change.get_optional<Idset>(key).value_or(Idset()); };
    up_ |= ranks("up");
    up_ -= ranks("down");
    resources_->remove_ranks(ranks("shrink"));
    auto expiration = change.get_optional<double>("expiration");
    if (expiration) resources_->expiration = *expiration;
    if (!scheduler_) return;
    scheduler_->mark_up(ranks("up"));
    scheduler_->mark_down(ranks("down"));
    if (change.contains("shrink")) scheduler_->shrink(ranks("shrink"));
    if (expiration) scheduler_->set_pool_expiration(*expiration);
    schedule_soon();
}

// The job manager -------------------------------------------------------------------------------------------------

// Nothing that is under way has a meaning any more.
void Service::begin_anew() {
    ++news_;
    ready_ = false;
    for (auto& [id, request] : requests_) request.drop();
    requests_.clear();
    early_frees_.clear();
    changed_.notify_all();
}

Task<> Service::greet_when_needed() {
    std::uint64_t greeted = 0;
    for (;;) {
        while (news_ == greeted || !resources_ || !job_manager_->up()) co_await changed_.wait();
        greeted = news_;
        try {
            co_await greet();
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (news_ == greeted) log(LogLevel::err, fmt::format("hello: {}", error.what()));
        }
    }
}

Task<> Service::greet() {
    auto news = news_;
    scheduler_ = std::make_unique<Scheduler>(make_policy(), *resources_, up_);
    debug_changed(debug_);
    co_await take_over_jobs();
    auto payload = Json::object("mode", options_->queue_depth ? "limited" : "unlimited");
    if (options_->queue_depth) payload.set("limit", *options_->queue_depth);
    co_await call(job_manager_protocol::sched_ready.topic, std::move(payload));
    if (news != news_) co_return;
    ready_ = true;
    log(LogLevel::info, fmt::format("ready: queue-depth={} log-level={} pool-class=Rv1Pool Rv1 {}",
                                    options_->queue_depth_name(), options_->log_level_name, resources_->summary()));
    for (auto& request : std::exchange(early_frees_, {})) free(std::move(request));
    schedule_soon();
}

namespace {

/// A job that hello tells of.
class Holder {
public:
    Holder(JobId id, Idset freed, Reply<kvs::Value> R) : id(id), freed(std::move(freed)), R(std::move(R)) {}
    JobId id;
    Idset freed;
    Reply<kvs::Value> R;
};

} // namespace

Task<> Service::take_over_jobs() {
    auto lookup = kvs::LookupOptions().name_space(kvs_protocol::primary_namespace);
    std::vector<Holder> holders;
    auto hello =
        handle().stream(job_manager_protocol::sched_hello.topic, Json::object("partial-ok", options_->partial_ok));
    while (auto response = co_await hello.next()) {
        auto job = response->json();
        auto id = job.get<JobId>("id");
        if (options_->log_level == LogLevel::debug)
            log(LogLevel::debug, fmt::format("hello: id={} priority={} userid={} t_submit={}", id.f58(),
                                             job["priority"].dump(), job["userid"].dump(), job["t_submit"].dump()));
        holders.emplace_back(id, job.get_optional<Idset>("free").value_or(Idset()),
                             kvs::lookup(handle(), R_key(id), lookup));
    }
    for (auto& holder : holders) {
        try {
            auto value = co_await holder.R;
            auto R = ResourceSet::parse(value.bytes());
            R.remove_ranks(holder.freed);
            scheduler_->hello(holder.id, R);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            reject(holder.id, error);
        }
    }
}

void Service::reject(JobId id, const Error& error) {
    log(LogLevel::err, fmt::format("hello: {}: {}", id.f58(), error.what()));
    call(job_manager_protocol::raise.topic, Json::object("id", id, "severity", 0, "type", "scheduler-restart", "note",
                                                         "failed to reallocate R for running job"))
        .then([](Message) {});
}

// Its messages ----------------------------------------------------------------------------------------------------

void Service::alloc(Request request) {
    if (!scheduler_) return; // sent before it knew of us
    auto job = request.json();
    auto id = job.get<JobId>("id");
    Actions actions;
    try {
        actions = scheduler_->alloc(id, job.get<std::uint32_t>("priority"), job["jobspec"]);
    } catch (const Error& error) {
        if (error.errnum() != EEXIST) throw;
        log(LogLevel::err, fmt::format("alloc: {}: beginning anew", error.what()));
        return begin_anew();
    }
    requests_.insert_or_assign(id, std::move(request));
    carry_out(std::move(actions));
    schedule_soon();
}

void Service::cancel(Request request) {
    if (!scheduler_) return;
    carry_out(scheduler_->cancel(request.json().get<JobId>("id")));
    schedule_soon();
}

void Service::prioritize(Request request) {
    if (!scheduler_) return;
    std::vector<std::pair<JobId, std::uint32_t>> jobs;
    for (auto entry : request.json()["jobs"].elements())
        jobs.emplace_back(entry[std::size_t(0)].as<JobId>(), entry[std::size_t(1)].as<std::uint32_t>());
    scheduler_->prioritize(jobs);
    schedule_soon();
}

void Service::free(Request request) {
    if (!ready_) return early_frees_.push_back(std::move(request));
    auto job = request.json();
    auto id = job.get<JobId>("id");
    auto R = ResourceSet::decode(job["R"]);
    auto final = job.get_or("final", false);
    if (options_->log_level == LogLevel::debug)
        log(LogLevel::debug, fmt::format("free: {}: {}{}", id.f58(), R.summary(), final ? " (final)" : ""));
    auto problem = scheduler_->free(id, R.ranks(), final);
    if (!problem.empty()) log(LogLevel::err, problem);
    schedule_soon();
}

void Service::expiration(Request request) {
    if (debug_ & refuse_expiration) throw Error(EINVAL, "Rejecting expiration update for testing");
    auto job = request.json();
    if (scheduler_) scheduler_->set_expiration(job.get<JobId>("id"), job.get<double>("expiration"));
    request.respond();
    schedule_soon();
}

void Service::resource_status(Request request) {
    if (!scheduler_) throw Error(EAGAIN, "no resources yet");
    request.respond(Json::object("all", scheduler_->all().encode(), "allocated", scheduler_->allocated().encode(),
                                 "down", scheduler_->down().encode()));
}

Task<> Service::check_feasible(Request request) {
    while (!scheduler_) co_await changed_.wait();
    scheduler_->check_feasible(request.json().get<JsonView>("jobspec"));
    request.respond();
}

// Scheduling ------------------------------------------------------------------------------------------------------

// What comes in one turn of the loop is looked at together.
void Service::schedule_soon() {
    if (!ready_ || std::exchange(scheduling_, true)) return;
    loop().post([this] { schedule(); });
}

void Service::schedule() {
    scheduling_ = false;
    if (!ready_) return;
    auto begin = std::chrono::steady_clock::now();
    auto actions = scheduler_->run(now(), pass_limit);
    auto starts = std::count_if(actions.begin(), actions.end(),
                                [](const Action& action) { return action.type == Action::Type::success; });
    carry_out(std::move(actions));
    ++passes_;
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    pass_time_ += (time.count() - pass_time_) / 8;
    if (static_cast<std::size_t>(starts) == pass_limit) {
        ++yields_;
        return schedule_soon();
    }
    if (scheduler_->pending() > 0 && !forecast_timer_.active())
        forecast_timer_.start(std::max<std::chrono::nanoseconds>(forecast_delay, last_forecast_ * forecast_share));
}

void Service::forecast() {
    if (!ready_ || scheduling_) return;
    auto begin = std::chrono::steady_clock::now();
    carry_out(scheduler_->forecast(now()));
    ++forecasts_;
    last_forecast_ = std::chrono::steady_clock::now() - begin;
}

void Service::carry_out(Actions actions) {
    for (auto& action : actions) {
        if (action.type == Action::Type::success)
            grant(std::move(action));
        else
            answer(action);
    }
}

// The answer means that R is in the KVS.
void Service::grant(Action action) {
    auto granted = std::make_shared<Action>(std::move(action));
    auto R = std::make_shared<Json>(granted->R.encode());
    kvs::Transaction changes;
    changes.put_json(R_key(granted->id), *R);
    writer_.add(std::move(changes), [this, news = news_, granted, R](const Error* failure) {
        if (news != news_) return; // of a time before the last hello
        auto id = granted->id;
        auto found = requests_.find(id);
        if (found == requests_.end()) return;
        auto request = std::move(found->second);
        requests_.erase(found);
        if (failure) {
            scheduler_->free(id, granted->R.ranks(), true);
            auto note = fmt::format("R cannot be stored: {}", failure->what());
            request.respond(Json::object("id", id, "type", static_cast<int>(Action::Type::deny), "note", note));
            return schedule_soon();
        }
        if (options_->log_level == LogLevel::debug)
            log(LogLevel::debug, fmt::format("alloc: {}: {}", id.f58(), granted->R.summary()));
        request.respond(Json::object("id", id, "type", static_cast<int>(Action::Type::success), "annotations",
                                     std::move(granted->annotations), "R", std::move(*R)));
    });
}

void Service::answer(const Action& action) {
    auto found = requests_.find(action.id);
    if (found == requests_.end()) return;
    auto answer = Json::object("id", action.id, "type", static_cast<int>(action.type));
    if (action.type == Action::Type::annotate) answer.set("annotations", action.annotations.copy());
    if (action.type == Action::Type::deny) answer.set("note", action.note);
    found->second.respond(std::move(answer));
    if (action.type != Action::Type::annotate) requests_.erase(found);
}

} // namespace flux::sched_service
