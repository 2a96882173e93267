// modules/cron — runs commands by the clock or by events. Rank 0. The table of entries is durable (KVS key
// `checkpoint.cron`); commands run in the background of `rexec` under the label `cron-ID`, so that a new copy of this
// module finds them again.
#include "cron_protocol.hpp"
#include "entry.hpp"

#include <flux/duration.hpp>
#include <flux/kvs_writer.hpp>
#include <flux/module.hpp>
#include <flux/rexec.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <set>

namespace flux::cron {
namespace {

namespace protocol = cron_protocol;

constexpr const char* table_key = "checkpoint.cron";
constexpr double default_epsilon = 0.015;

double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::chrono::nanoseconds nanoseconds_of(double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

} // namespace

class Cron final : public Module {
public:
    explicit Cron(ModuleContext& context) : Module(context), writer_(handle()) {}

    Task<> start() override {
        read_arguments();
        co_await load_table();
        serve(protocol::create, &Cron::create);
        serve(protocol::remove, &Cron::remove);
        serve(protocol::stop, &Cron::stop_entry);
        serve(protocol::start, &Cron::start_entry);
        serve(protocol::list, &Cron::list);
        serve(protocol::sync, &Cron::sync);
        co_await follow_topics();
        for (auto& [id, job] : jobs_) {
            if (job.entry.current()) go_on(job);
            arm(job);
        }
    }

private:
    struct Job {
        explicit Job(Entry entry) : entry(std::move(entry)) {}
        Entry entry;
        std::unique_ptr<Timer> wakeup;
        std::unique_ptr<Timer> timeout;
        std::vector<Request> removers; // answered when the run under way has ended
    };

    // Arguments and the durable table -------------------------------------------------------------------------------

    void read_arguments() {
        for (const auto& argument : args()) {
            if (argument.starts_with("sync="))
                sync_topic_ = argument.substr(5);
            else if (argument.starts_with("sync_epsilon="))
                epsilon_ = parse_duration(argument.substr(13));
            else
                throw Error(EINVAL, fmt::format("unknown argument '{}'", argument));
        }
    }

    Task<> load_table() {
        Json table;
        try {
            auto options = kvs::LookupOptions().name_space("primary");
            auto value = co_await kvs::lookup(handle(), table_key, options);
            table = value.json();
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
            co_return;
        }
        last_id_ = table.get<std::int64_t>("last_id");
        if (auto sync = table["sync"]; sync.is_object()) {
            changed_sync_ = true;
            sync_topic_ = sync.get<std::string>("topic");
            epsilon_ = sync.get<double>("epsilon");
        }
        for (auto record : table.get<JsonView>("entries").elements()) {
            auto entry = Entry::from_record(record);
            auto id = entry.id();
            jobs_.emplace(id, std::move(entry));
        }
    }

    kvs::Transaction table() const {
        auto entries = Json::array();
        for (const auto& [id, job] : jobs_) entries.append(job.entry.record());
        auto table = Json::object("last_id", last_id_, "entries", std::move(entries));
        if (changed_sync_) table.set("sync", Json::object("topic", sync_topic_, "epsilon", epsilon_));
        kvs::Transaction transaction;
        transaction.put_json(table_key, table);
        return transaction;
    }

    void save() {
        writer_.add(table(), [this](const Error* failure) {
            if (failure) log(LogLevel::err, fmt::format("{}: {}", table_key, failure->what()));
        });
    }

    // Triggers ------------------------------------------------------------------------------------------------------

    void arm(Job& job) {
        auto wakeup = job.entry.next_wakeup();
        if (!wakeup) return job.wakeup.reset();
        if (!job.wakeup) job.wakeup = std::make_unique<Timer>(loop(), [this, id = job.entry.id()] { wake(id); });
        job.wakeup->start(nanoseconds_of(std::max(0.0, *wakeup - wall_clock())));
    }

    void wake(std::int64_t id) {
        auto& job = jobs_.at(id);
        auto now = wall_clock();
        auto wakeup = job.entry.next_wakeup();
        if (wakeup && *wakeup <= now) { // the clock may have been set back
            job.entry.woken(now);
            trigger(job);
        }
        arm(job);
    }

    void trigger(Job& job) {
        auto now = wall_clock();
        if (!job.entry.schedule(now)) {
            log(LogLevel::info,
                fmt::format("cron-{}: \"{}\" is still running, skipped", job.entry.id(), job.entry.command()));
            return;
        }
        if (!sync_topic_.empty() && now - last_sync_ > epsilon_)
            job.entry.deferred();
        else
            go_on(job);
        save();
    }

    void on_event(const std::string& topic) {
        auto now = wall_clock();
        if (!sync_topic_.empty() && topic.starts_with(sync_topic_)) {
            last_sync_ = now;
            run_deferred();
        }
        for (auto& [id, job] : jobs_) {
            auto wanted = job.entry.topic();
            if (!wanted || !topic.starts_with(*wanted)) continue;
            if (job.entry.count_event(now)) trigger(job);
            arm(job);
        }
    }

    void run_deferred() {
        for (auto& [id, job] : jobs_) {
            auto* run = job.entry.current();
            if (run && run->state == "Deferred" && run->started == 0) go_on(job);
        }
    }

    Task<> follow_topics() {
        std::set<std::string> wanted;
        if (!sync_topic_.empty()) wanted.insert(sync_topic_);
        for (const auto& [id, job] : jobs_)
            if (auto topic = job.entry.topic()) wanted.insert(*topic);
        for (const auto& topic : topics_)
            if (!wanted.contains(topic)) handle().unsubscribe(topic);
        auto before = std::exchange(topics_, wanted);
        std::vector<Call> calls;
        for (const auto& topic : wanted) {
            if (before.contains(topic)) continue;
            calls.push_back(
                handle().subscribe(topic, [this](const Message& event) { on_event(std::string(event.topic)); }));
        }
        for (auto& call : calls) co_await call;
    }

    // Runs ----------------------------------------------------------------------------------------------------------

    static std::string label(const Job& job) { return fmt::format("cron-{}", job.entry.id()); }

    /// Start the current run, or wait for the end of one that an earlier copy of this module has started.
    void go_on(Job& job) {
        auto* run = job.entry.current();
        bool launch = run->started == 0;
        if (launch)
            run->started = wall_clock();
        else
            run->state = "Running";
        if (job.entry.timeout() >= 0) {
            job.timeout = std::make_unique<Timer>(loop(), [this, id = job.entry.id()] { expire(id); });
            job.timeout->start(nanoseconds_of(std::max(0.0, run->started + job.entry.timeout() - wall_clock())));
        }
        spawn("command", &Cron::follow, this, job.entry.id(), launch);
    }

    Task<> follow(std::int64_t id, bool launch) {
        auto& job = jobs_.at(id);
        auto name = rexec::ProcessName(label(job));
        auto server = rexec::Server().rank(job.entry.rank());
        std::optional<int> status;
        int errnum = 0;
        try {
            if (launch) {
                auto command = command_of(job);
                auto pid = co_await rexec::start(handle(), server, command, true);
                job.entry.current()->pid = pid;
                job.entry.current()->state = "Running";
                job.entry.current()->running = wall_clock();
                save();
            }
            auto result = co_await rexec::wait(handle(), server, name);
            status = result.status;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            errnum = error.errnum();
        }
        ended(job, status, errnum);
    }

    static RemoteCommand command_of(const Job& job) {
        RemoteCommand command(std::vector<std::string>{"sh", "-c", job.entry.command()});
        auto request = job.entry.request();
        for (auto [key, value] : request["environ"].members())
            command.command.env.push_back(fmt::format("{}={}", key, value.as<std::string_view>()));
        command.command.cwd = request.get_or<std::string>("cwd", "");
        command.label = label(job);
        return command;
    }

    void expire(std::int64_t id) {
        auto& job = jobs_.at(id);
        auto* run = job.entry.current();
        if (!run || run->pid < 0) return;
        run->timed_out = true;
        kill(job);
    }

    void kill(const Job& job) {
        auto server = rexec::Server().rank(job.entry.rank());
        rexec::kill(handle(), server, label(job), SIGTERM).then([](Message) {}); // it may just have ended
    }

    void ended(Job& job, std::optional<int> status, int errnum) {
        job.timeout.reset();
        if (!job.entry.finish(wall_clock(), status, errnum))
            log(LogLevel::err,
                fmt::format("cron-{}: \"{}\": {}", job.entry.id(), job.entry.command(), job.entry.verdict()));
        arm(job);
        if (!job.removers.empty()) return spawn("remove", &Cron::finish_removal, this, job.entry.id());
        save();
    }

    // Requests ------------------------------------------------------------------------------------------------------

    Job& find(const Request& request) {
        auto id = request.json().get<std::int64_t>("id");
        auto found = jobs_.find(id);
        if (found == jobs_.end()) throw Error(ENOENT, fmt::format("cron-{}: no such entry", id));
        return found->second;
    }

    Task<> create(Request request) {
        Entry entry(last_id_ + 1, request.json(), wall_clock());
        auto id = ++last_id_;
        jobs_.emplace(id, std::move(entry));
        co_await follow_topics();
        co_await answer(request, id);
    }

    Task<> stop_entry(Request request) {
        auto& job = find(request);
        job.entry.stop();
        co_await answer(request, job.entry.id());
    }

    Task<> start_entry(Request request) {
        auto& job = find(request);
        job.entry.start(wall_clock());
        co_await answer(request, job.entry.id());
    }

    /// When what was done is durable.
    Task<> answer(Request request, std::int64_t id) {
        arm(jobs_.at(id));
        auto json = jobs_.at(id).entry.to_json();
        co_await writer_.commit(table());
        request.respond(std::move(json));
    }

    Task<> remove(Request request) {
        auto& job = find(request);
        bool running = job.entry.current() && job.entry.current()->started > 0;
        if (running && request.json().get_or("kill", false)) kill(job);
        if (!job.entry.stopped()) job.entry.stop();
        arm(job);
        auto id = job.entry.id();
        job.removers.push_back(std::move(request));
        if (!running) co_await finish_removal(id);
    }

    Task<> finish_removal(std::int64_t id) {
        auto found = jobs_.find(id);
        if (found == jobs_.end()) co_return;
        auto json = found->second.entry.to_json();
        auto removers = std::move(found->second.removers);
        jobs_.erase(found);
        co_await follow_topics();
        co_await writer_.commit(table());
        for (auto& request : removers) request.respond(json.copy());
    }

    void list(Request request) {
        auto entries = Json::array();
        for (const auto& [id, job] : jobs_) entries.append(job.entry.to_json());
        request.respond(Json::object("entries", std::move(entries)));
    }

    Task<> sync(Request request) {
        auto wanted = request.json_or_none();
        auto topic = wanted.get_optional<std::string>("topic");
        auto epsilon = wanted.get_optional<double>("sync_epsilon");
        bool disable = wanted.get_or("disable", false);
        if (topic) sync_topic_ = *topic;
        if (disable) sync_topic_.clear();
        if (epsilon) epsilon_ = *epsilon;
        if (topic || disable || epsilon) {
            changed_sync_ = true;
            co_await follow_topics();
            if (sync_topic_.empty()) run_deferred();
            co_await writer_.commit(table());
        }
        if (sync_topic_.empty())
            request.respond(Json::object("sync_disabled", true));
        else
            request.respond(Json::object("sync_event", sync_topic_, "sync_epsilon", epsilon_));
    }

    kvs::Writer writer_;
    std::map<std::int64_t, Job> jobs_;
    std::int64_t last_id_ = 0;
    std::set<std::string> topics_; ///< subscribed to
    std::string sync_topic_;       ///< empty: commands run when they are due
    double epsilon_ = default_epsilon;
    bool changed_sync_ = false; ///< by a request, not by arguments
    double last_sync_ = 0;
};

} // namespace flux::cron

FLUX_MODULE(flux::cron::Cron, "cron")
