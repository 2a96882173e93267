// modules/resource — what the instance has and which of it may be used now. Rank 0 keeps inventory, event log and drain
// state, and tells the scheduler; the others tell it what is on their hosts. Durable: resource.R, resource.eventlog.
// Reload: the scheduler's stream and the journals go on.
#include "acquire.hpp"
#include "discovery.hpp"
#include "inventory.hpp"
#include "journal.hpp"
#include "monitor.hpp"
#include "options.hpp"
#include "reduction.hpp"
#include "state.hpp"

#include <flux/job_manager_protocol.hpp>
#include <flux/kvs.hpp>
#include <flux/module.hpp>
#include <flux/overlay_protocol.hpp>
#include <flux/parse_integer.hpp>
#include <flux/resource_config.hpp>
#include <flux/resource_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>

using namespace std::chrono_literals;

namespace flux::resource {
namespace {

namespace protocol = resource_protocol;

// How long stop() waits for the checkpoint, which nothing depends on.
constexpr auto checkpoint_limit = 2s;

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// The bytes of a key; nothing when there is none.
Task<std::optional<std::string>> value_if_there(const Reply<kvs::Value>& reply) {
    try {
        auto value = co_await reply;
        co_return value.bytes();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
    }
    co_return std::nullopt;
}

} // namespace

class Resource final : public Module {
public:
    using Module::Module;

    Task<> start() override {
        options_.emplace(config());
        options_->add_arguments(args());
        serve_stats(protocol::stats_get);
        recovery_ = has_attr("broker.recovery-mode");
        if (recovery_) options_->noverify = true;
        if (rank() == 0) co_return co_await start_leader();
        start_follower();
        // A leader that has lost its store asks nobody.
        auto on_resync = [this](const Message&) { reduction_->add(local()); };
        co_await handle().subscribe(overlay_protocol::resync_event, on_resync);
    }

    Task<> stop() override {
        if (rank() != 0) co_return;
        if (!reloading()) acquire_.fail(Error(ECANCELED, "the resource module was unloaded"));
        if (state_ && journal_) co_await save_checkpoint();
    }

    void config_changed(JsonView config) override {
        Options options(config);
        configured_resources(config["resource"]);
        if (journal_) journal_->set_limit(options.journal_max);
    }

    std::optional<Json> park(const Request& request) override {
        if (acquire_.is(request)) return acquire_.cursor();
        if (request.message().topic == protocol::journal.topic) return Json::object();
        return std::nullopt;
    }

    void resume(Request request, JsonView cursor) override {
        if (request.message().topic == protocol::journal.topic)
            journal_->follow_on(std::move(request));
        else
            acquire_.resume(std::move(request), cursor, *state_);
    }

private:
    // Followers -----------------------------------------------------------------------------------------------------

    void start_follower() {
        serve(protocol::get, &Resource::forward_get);
        serve(protocol::topo_reduce, &Resource::topo_reduce);
        for (const auto& method : {protocol::status, protocol::sched_status, protocol::acquire, protocol::acquire_mute,
                                   protocol::journal, protocol::monitor_waitup, protocol::monitor_force_down})
            handle().serve(method, [](Request) { throw Error(EPROTO, "this RPC only works on rank 0"); });
        for (const auto& method : {protocol::reload, protocol::expiration_update})
            handle().serve(method, [](Request request) {
                throw Error(ENOSYS, fmt::format("{} is only available on rank 0", request.message().topic));
            });
        auto below = parse_integer<std::size_t>(attr("tbon.descendants"));
        reduction_.emplace(handle(), scope(), below.value_or(0) + 1);
        reduction_->add(local());
    }

    Task<> forward_get(Request request) {
        auto response = co_await handle().call(protocol::get.topic, CallOptions().rank(0));
        request.respond(response.payload);
    }

    // What this rank finds on its host.
    ResourceSet local() const {
        ResourceSet result;
        result.add(rank(), attr("hostname"), discover(!options_->norestrict));
        return result;
    }

    void topo_reduce(Request request) {
        try {
            auto found = ResourceSet::decode(request.json().get<JsonView>("resource"));
            if (reduction_)
                reduction_->add(found);
            else
                inventory_->found(found);
        } catch (const Error& error) {
            log(LogLevel::err, fmt::format("error decoding topo-reduce request: {}", error.what()));
            throw;
        }
        request.respond();
    }

    // Start of rank 0 -----------------------------------------------------------------------------------------------

    Task<> start_leader() {
        auto options = kvs::LookupOptions().name_space(kvs_protocol::primary_namespace);
        auto R_reply = kvs::lookup(handle(), protocol::R_key, options);
        auto log_reply = kvs::lookup(handle(), protocol::eventlog_key, options);
        auto checkpoint_reply = kvs::lookup(handle(), protocol::checkpoint_key, options);
        state_.emplace(size(), Hostlist::parse(attr("hostlist")));
        journal_.emplace(
            handle(), [this](const EventlogEntry& event) { happened(event); }, [this] { return state_->R().encode(); });
        journal_->set_limit(options_->journal_max);
        Inventory::Report report;
        report.log = [this](LogLevel level, const std::string& text) { log(level, text); };
        report.failed = [this](const Error& error) {
            log(LogLevel::err, fmt::format("resources could not be stored: {}", error.what()));
            acquire_.fail(Error(ENOENT, "resource discovery failed or interrupted"));
        };
        inventory_.emplace(handle(), scope(), *options_, *state_, *journal_, size(), std::move(report));
        auto R = co_await value_if_there(R_reply);
        auto log = co_await value_if_there(log_reply);
        auto checkpoint = co_await value_if_there(checkpoint_reply);
        auto configured = configured_set();
        // Ranks are mapped to hosts by the R that will be.
        if (configured)
            state_->stage(*configured);
        else if (R)
            state_->stage(ResourceSet::parse(*R));
        exclude();
        replay(log.value_or(""), checkpoint);
        co_await start_monitor();
        journal_->post(
            EventlogEntry("restart", Json::object("ranks", state_->all().encode(), "online", state_->online().encode(),
                                                  "nodelist", state_->hosts().encode())));
        readmit_excluded();
        inventory_->start(std::move(configured), R, origin());
        inventory_->found(local());
        serve_leader();
    }

    std::optional<ResourceSet> configured_set() {
        auto R = configured_resources(config()["resource"]);
        if (!R || !options_->bootstrap) return R;
        try {
            R->rerank(state_->hosts());
        } catch (const Error& error) {
            log(LogLevel::err, fmt::format("error reranking R: {}", error.what()));
            throw error.while_doing("error reranking R");
        }
        return R;
    }

    std::optional<Inventory::Origin> origin() const {
        if (!has_attr("parent-uri") || !has_attr("jobid")) return std::nullopt;
        return Inventory::Origin(attr("parent-uri"), JobId::parse(attr("jobid")));
    }

    bool has_attr(std::string_view name) const {
        try {
            attr(name);
            return true;
        } catch (const Error&) {
            return false;
        }
    }

    // Hosts can be named as soon as there is an R.
    void exclude() {
        if (options_->exclude.empty()) return;
        if (state_->known() || Idset::try_parse(options_->exclude))
            state_->set_exclude(state_->targets(options_->exclude));
    }

    void replay(const std::string& text, const std::optional<std::string>& checkpoint) {
        auto events = decode_eventlog(text);
        double since = 0;
        if (checkpoint) {
            has_checkpoint_ = true;
            since = state_->restore(Json::parse(*checkpoint, protocol::checkpoint_key));
        }
        for (const auto& event : events)
            if (event.timestamp >= since && (event.name == "drain" || event.name == "undrain")) state_->apply(event);
        truncate(events);
        journal_->remember(std::move(events));
    }

    // Old events go; what they have led to is in a checkpoint then.
    void truncate(std::vector<EventlogEntry>& events) {
        if (recovery_ || options_->notruncate) return;
        auto limit = now() - options_->history;
        auto first =
            std::find_if(events.begin(), events.end(), [&](const auto& event) { return event.timestamp >= limit; });
        if (first == events.begin()) return;
        journal_->truncated(std::prev(first)->timestamp);
        events.erase(events.begin(), first);
        std::string text;
        for (const auto& event : events) text += event.encode();
        kvs::Transaction changes;
        changes.put(protocol::eventlog_key, text);
        changes.put_json(protocol::checkpoint_key, state_->checkpoint(now()));
        has_checkpoint_ = true;
        journal_->writer().add(std::move(changes));
    }

    Task<> start_monitor() {
        monitor_.emplace(handle(), scope(), [this](const char* event, const Idset& ranks) {
            journal_->post(EventlogEntry(event, Json::object("idset", ranks.encode())));
        });
        if (recovery_) co_return;
        if (options_->monitor_force_up)
            monitor_->force_up(state_->all());
        else
            co_await monitor_->start(options_->online_group);
    }

    void readmit_excluded() {
        auto ranks = state_->drain().ranks() & state_->exclude();
        if (ranks.empty()) return;
        journal_->commit(EventlogEntry(
            "undrain", Json::object("idset", ranks.encode(), "nodelist", state_->hosts_of(ranks), "overwrite", 0)));
    }

    void happened(const EventlogEntry& event) {
        state_->apply(event);
        if (event.name == "resource-define") {
            try {
                exclude();
            } catch (const Error& error) {
                log(LogLevel::err, fmt::format("resource.exclude: {}, ignoring", error.what()));
            }
            inventory_->defined();
        }
        acquire_.update(*state_);
        answer_early();
    }

    // While every rank is there R is a matter of a moment: who asks for it is answered then. False: it is known.
    using Handler = void (Resource::*)(Request);
    bool is_early(const Request& request, Handler handler) {
        if (!state_->defined() && state_->all() == state_->online()) {
            early_.emplace_back(request, handler);
            return true;
        }
        state_->require_defined();
        return false;
    }

    void answer_early() {
        if (early_.empty() || (!state_->defined() && state_->all() == state_->online())) return;
        for (auto& [request, handler] : std::exchange(early_, {})) {
            try {
                (this->*handler)(request);
            } catch (const Error& error) {
                request.fail(error);
            }
        }
    }

    // The log alone has all that is needed here; others who read this store begin with a checkpoint.
    Task<> save_checkpoint() {
        if (recovery_ || !journal_->idle() || (state_->drain().ranks().empty() && !has_checkpoint_)) co_return;
        kvs::Transaction changes;
        changes.put_json(protocol::checkpoint_key, state_->checkpoint(now()));
        auto payload = kvs::CommitOptions().name_space(kvs_protocol::primary_namespace).payload(changes);
        try {
            co_await handle().call(kvs_protocol::commit.topic, std::move(payload),
                                   CallOptions().deadline(checkpoint_limit));
        } catch (const Error& error) {
            log(LogLevel::warning, fmt::format("checkpoint of drained nodes: {}, ignoring", error.what()));
        }
    }

    // Methods of rank 0 ---------------------------------------------------------------------------------------------

    void serve_leader() {
        serve(protocol::topo_reduce, &Resource::topo_reduce);
        serve(protocol::status, &Resource::status);
        serve(protocol::sched_status, &Resource::sched_status);
        serve(protocol::get, &Resource::get);
        serve(protocol::acquire, &Resource::acquire);
        serve(protocol::acquire_cancel, &Resource::acquire_cancel);
        serve(protocol::acquire_mute, &Resource::acquire_mute);
        serve(protocol::drain, &Resource::drain);
        serve(protocol::undrain, &Resource::undrain);
        serve(protocol::journal, &Resource::journal);
        serve(protocol::journal_cancel, &Resource::journal_cancel);
        serve(protocol::reload, &Resource::reload);
        serve(protocol::expiration_update, &Resource::expiration_update);
        serve(protocol::monitor_waitup, &Resource::monitor_waitup);
        serve(protocol::monitor_force_down, &Resource::monitor_force_down);
        serve(protocol::disconnect, &Resource::disconnect);
    }

    void status(Request request) {
        if (is_early(request, &Resource::status)) return;
        auto R = state_->R();
        R.set_scheduling(nullptr);
        auto offline = state_->all() - state_->online();
        request.respond(Json::object("R", R.encode(), "drain", state_->drain().to_json(), "online",
                                     state_->online().encode(), "offline", offline.encode(), "exclude",
                                     state_->exclude().encode(), "torpid", state_->torpid().encode()));
    }

    // Those who ask at the same time share one question to the job manager.
    void sched_status(Request request) {
        if (is_early(request, &Resource::sched_status)) return;
        status_waiters_.push_back(std::move(request));
        if (status_waiters_.size() > 1) return;
        call(job_manager_protocol::resource_status.topic).then([this](Message response) {
            for (const auto& waiter : std::exchange(status_waiters_, {})) {
                try {
                    answer_sched_status(waiter, response);
                } catch (const Error& error) {
                    waiter.fail(error);
                }
            }
        });
    }

    void answer_sched_status(const Request& request, const Message& response) {
        ResourceSet allocated;
        // Without a job manager nothing is allocated.
        if (response.errnum() != ENOSYS) {
            response.throw_if_failed();
            allocated = ResourceSet::decode(response.json()["allocated"]);
        }
        auto all = state_->R();
        all.remove_ranks(state_->hidden());
        allocated.remove_ranks(state_->hidden());
        for (const auto& [name, ranks] : all.properties())
            if (auto here = ranks & allocated.ranks(); !here.empty()) allocated.set_property(name, here);
        auto down = all.copy_ranks(all.ranks() - state_->up());
        request.respond(Json::object("all", all.encode(), "down", down.encode(), "allocated", allocated.encode()));
    }

    void get(Request request) {
        if (is_early(request, &Resource::get)) return;
        request.respond(Json::object("R", state_->R().encode(), "method", state_->method()));
    }

    void acquire(Request request) { acquire_.open(std::move(request), *state_); }
    void acquire_cancel(Request request) { acquire_.cancel(request); }
    void acquire_mute(Request request) {
        acquire_.mute();
        request.respond();
    }

    Task<> drain(Request request) {
        auto mode = parse_drain_mode(request.json(), "Invalid mode specified");
        co_await change_drain(std::move(request), "drain", mode);
    }

    Task<> undrain(Request request) {
        auto mode = parse_drain_mode(request.json(), "invalid undrain mode '{}' specified");
        co_await change_drain(std::move(request), "undrain", mode);
    }

    Task<> change_drain(Request request, const char* event, DrainMode mode) {
        auto targets = request.json().get<std::string>("targets");
        auto reason = request.json().get_optional<std::string>("reason");
        // What is asked is checked against what will be.
        co_await journal_->settled();
        auto ranks = state_->targets(targets);
        if (event == std::string_view("drain"))
            state_->drain().check_drain(ranks, state_->exclude(), mode);
        else
            state_->drain().check_undrain(ranks, mode);
        auto hosts = state_->hosts_of(ranks);
        auto overwrite = overwrite_of(mode);
        auto context = Json::object("idset", ranks.encode(), "nodelist", hosts);
        if (reason) context.set("reason", *reason);
        context.set("overwrite", overwrite);
        log(LogLevel::info, fmt::format("{} idset={} nodelist={} overwrite={}{}{}", event, ranks.encode(), hosts,
                                        overwrite, reason ? " reason=" : "", reason.value_or("")));
        journal_->commit(EventlogEntry(event, std::move(context)), answer(std::move(request)));
    }

    static Journal::Done answer(Request request) {
        return [request = std::move(request)](const Error* failure) {
            if (failure)
                request.fail(*failure);
            else
                request.respond();
        };
    }

    void journal(Request request) {
        if (!request.streaming()) throw Error(EPROTO, "journal requires streaming RPC flag");
        journal_->follow(std::move(request));
    }
    void journal_cancel(Request request) { journal_->cancel(request); }

    void reload(Request request) {
        auto path = request.json().get<std::string>("path");
        if (request.json().get_or("xml", false)) throw Error(ENOTSUP, "reload from hwloc XML is not supported");
        if (acquire_.active()) throw Error(EBUSY, "resources are busy (unload scheduler?)");
        auto R = *configured_resources(Json::object("path", path));
        auto force = request.json().get_or("force", false);
        if (!force && !Idset::below(size()).includes(R.ranks()))
            throw Error(EINVAL,
                        fmt::format("resource object contains ranks execeeding size={} (override with -f))", size()));
        inventory_->define(std::move(R), "reload", answer(std::move(request)));
    }

    void expiration_update(Request request) {
        auto expiration = request.json().get<double>("expiration");
        inventory_->update_expiration(expiration, answer(std::move(request)));
    }

    void monitor_waitup(Request request) {
        auto up = request.json().get<std::int64_t>("up");
        if (up < 0 || static_cast<std::size_t>(up) > state_->all().count())
            throw Error(EPROTO, "up value is out of range");
        monitor_->wait_up(std::move(request), static_cast<std::size_t>(up));
    }

    void monitor_force_down(Request request) {
        auto text = request.json().get<std::string>("ranks");
        auto ranks = Idset::try_parse(text);
        if (!ranks) throw Error(EINVAL, fmt::format("error parsing range '{}'", text));
        monitor_->force_down(*ranks);
        request.respond();
    }

    void disconnect(Request request) {
        acquire_.disconnect(request);
        journal_->disconnect(request);
        monitor_->disconnect(request);
    }

    std::optional<Options> options_;
    bool recovery_ = false;
    std::optional<Reduction> reduction_; // followers; the rest is rank 0's
    std::optional<State> state_;
    std::optional<Journal> journal_;
    std::optional<Inventory> inventory_;
    std::optional<Monitor> monitor_;
    Acquire acquire_;
    std::vector<std::pair<Request, Handler>> early_;
    std::vector<Request> status_waiters_;
    bool has_checkpoint_ = false;
};

} // namespace flux::resource

FLUX_MODULE(flux::resource::Resource, "resource")
