#include "engine.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::job_manager;

namespace {

// The plugins of these tests use nothing of their host.
class NoHost final : public JobtapHost {
public:
    Handle& handle() noexcept override { std::terminate(); }
    Scope& scope() noexcept override { std::terminate(); }
    JsonView config() const override { return {}; }
    JsonView arguments() const override { return {}; }
    void log(LogLevel, std::string_view) override {}
    std::optional<JobtapJob> lookup(JobId) override { return std::nullopt; }
    std::vector<JobId> active_jobs() const override { return {}; }
    void dependency_add(JobId, std::string_view) override {}
    void dependency_remove(JobId, std::string_view) override {}
    void set_flag(JobId, std::string_view) override {}
    void raise(JobId, std::string_view, int, std::string_view) override {}
    void post(JobId, std::string_view, Json) override {}
    void update_jobspec(JobId, Json) override {}
    void annotate(JobId, JsonView) override {}
    void reprioritize(JobId) override {}
    void reprioritize_all() override {}
    void prolog_start(JobId, std::string_view) override {}
    void prolog_finish(JobId, std::string_view, int) override {}
    void epilog_start(JobId, std::string_view) override {}
    void epilog_finish(JobId, std::string_view, int) override {}
    void with_inactive(std::function<void()>) override {}
    void when_durable(std::function<void()>) override {}
    void check_submit(std::string_view) override {}
    void serve(std::string_view, MethodClass, std::uint32_t, std::function<void(Request)>) override {}
};

class Behaviour final : public JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;
    void job_validate(const JobtapJob&) override {
        if (reject) throw Error(EINVAL, "rejected");
    }
    bool job_dependency(const JobtapJob& job, std::string_view scheme, JsonView dependency) override {
        if (scheme != "test") return false;
        engine->post(*jobs->find(job.id), "dependency-add",
                     Json::object("description", dependency.get<std::string>("value")));
        return true;
    }
    Priority job_priority(const JobtapJob& job) override {
        if (rude) throw std::runtime_error("no idea");
        return known ? Priority(job.urgency * factor) : Priority::unavailable();
    }
    std::optional<Json> job_sched(const JobtapJob&) override {
        return own.is_null() ? std::nullopt : std::optional(own.copy());
    }
    void job_run(const JobtapJob& job) override {
        if (rude) throw std::runtime_error("too bad");
        if (prolog) engine->post(*jobs->find(job.id), "prolog-start", Json::object("description", "p"));
    }
    void job_destroy(const JobtapJob&) override { ++destroyed; }
    bool reject = false, known = true, prolog = false, rude = false;
    Json own; // R that the scheduler has no part in
    int factor = 1, destroyed = 0;
    Engine* engine = nullptr;
    Jobs* jobs = nullptr;
};

class TestPlugin final : public Plugins::Loaded {
public:
    using Loaded::Loaded;
    Task<> close() override { co_return; }
};

struct World final : Surroundings {
    World() {
        auto made = std::make_unique<Behaviour>(host);
        plugin = made.get();
        plugin->engine = &engine;
        plugin->jobs = &jobs;
        auto loaded = std::make_unique<TestPlugin>("test", "");
        loaded->plugin.reset(made.release());
        plugins.admit(plugins.prepare(std::move(loaded)));
    }
    void on_event(const Job&, const EventlogEntry& entry) override { told += entry.name + " "; }
    void on_exception(const Job&, const EventlogEntry& entry) override {
        told += "!" + entry.context.get<std::string>("type") + " ";
    }
    void on_settled(Job& job) override { told += fmt_state(job) + " "; }
    void on_trouble(const std::string& text) override { trouble += text; }
    void on_store_failure(const Error& error) override { trouble += error.what(); }
    static std::string fmt_state(const Job& job) { return "[" + std::string(job_state_name(job.state)) + "]"; }

    Job& submit(std::uint64_t id, const char* system = "{}") {
        auto job = std::make_unique<Job>(JobId(id));
        job->jobspec = Json::object("attributes", Json::object("system", Json::parse(system)));
        EventlogEntry entry(now, "submit", Json::object("userid", 1, "urgency", 16, "flags", 0, "version", 1));
        fold(*job, entry);
        return engine.submit(std::move(job), std::move(entry));
    }
    // The store answers everything; what was told until then.
    std::string settle() {
        told.clear();
        ledger.flush();
        while (!commits.empty()) {
            auto done = std::move(commits.front());
            commits.pop_front();
            done();
            ledger.flush();
        }
        return told;
    }

    NoHost host;
    Jobs jobs;
    Plugins plugins;
    std::deque<Ledger::Effect> commits;
    Json written;
    Ledger ledger{[this](kvs::Transaction txn, Ledger::Effect done) {
                      kvs::Transaction joined;
                      joined.join(std::move(txn));
                      written = joined.to_json();
                      commits.push_back(std::move(done));
                  },
                  [] {}};
    double now = 100;
    Engine engine{jobs, plugins, ledger, *this, [this] { return now; }};
    Behaviour* plugin;
    std::string told;
    std::string trouble;
};

std::string names(const Job& job) {
    std::string text;
    for (auto& entry : decode_eventlog(job.eventlog)) text += entry.name + " ";
    return text;
}

} // namespace

TEST_CASE("engine: a job comes to wait for resources in one commit", "[job-manager]") {
    World w;
    auto& job = w.submit(1);
    CHECK(job.state == JobState::sched);
    CHECK(names(job) == "submit validate depend priority ");
    CHECK_FALSE(job.settled());
    CHECK(w.told.empty());
    CHECK(w.settle() == "submit validate depend priority [SCHED] ");
    CHECK(job.settled());
    CHECK(w.written.size() == 2); // the mark and the log
    CHECK(w.jobs.count(job_states_pending) == 1);
}

TEST_CASE("engine: a rejected job was never there", "[job-manager]") {
    World w;
    w.plugin->reject = true;
    CHECK_THROWS_WITH(w.submit(1), "rejected");
    w.plugin->reject = false;
    CHECK_THROWS_WITH(w.submit(2, R"({"dependencies":[{"scheme":"test","value":"a"},{"scheme":"x","value":"y"}]})"),
                      "dependency scheme \"x\" not supported");
    CHECK(w.plugin->destroyed == 2);
    CHECK(w.jobs.size() == 0);
    CHECK(w.settle().empty());
    CHECK(w.ledger.idle());
}

TEST_CASE("engine: dependencies and priorities hold a job", "[job-manager]") {
    World w;
    w.plugin->known = false;
    auto& job = w.submit(1, R"({"dependencies":[{"scheme":"test","value":"a"}]})");
    CHECK(w.settle() == "submit dependency-add validate [DEPEND] ");
    w.engine.post(job, "dependency-remove", Json::object("description", "a"));
    CHECK(w.settle() == "dependency-remove depend [PRIORITY] ");
    w.plugin->known = true;
    w.engine.reprioritize(job);
    CHECK(w.settle() == "priority [SCHED] ");
    w.plugin->factor = 2;
    w.engine.reprioritize(job);
    w.engine.reprioritize(job);
    CHECK(job.priority == 32);
    CHECK(w.settle() == "priority [SCHED] ");
    w.engine.post(job, "urgency", Json::object("userid", 1, "urgency", 0));
    CHECK(w.settle() == "urgency priority [SCHED] ");
    CHECK(job.priority == 0);
    w.engine.post(job, "urgency", Json::object("userid", 1, "urgency", 31));
    CHECK(job.priority == priority_max);
}

TEST_CASE("engine: from allocation to the end", "[job-manager]") {
    World w;
    w.plugin->prolog = true;
    auto& job = w.submit(1);
    w.settle();
    w.engine.post(job, "alloc");
    CHECK(w.settle() == "alloc prolog-start [RUN] ");
    CHECK(job.prologs == 1);
    w.engine.post(job, "prolog-finish", Json::object("description", "p", "status", 0));
    job.shells = Shells::pending;
    w.engine.post(job, "start");
    CHECK(w.settle() == "prolog-finish start [RUN] ");
    w.engine.post(job, "finish", Json::object("status", 0));
    CHECK(w.settle() == "finish [CLEANUP] ");
    job.shells = Shells::gone;
    w.engine.post(job, "release", Json::object("ranks", "all", "final", true));
    CHECK(w.settle() == "release free clean [INACTIVE] ");
    CHECK(w.trouble.empty());
    w.engine.post(job, "start");
    CHECK_FALSE(w.trouble.empty());
}

TEST_CASE("engine: a fatal exception ends a job as far as its shells let it", "[job-manager]") {
    World w;
    auto& pending = w.submit(1);
    w.settle();
    w.engine.raise(pending, Exception("cancel", 0));
    CHECK(w.settle() == "exception !cancel clean [INACTIVE] ");

    auto& running = w.submit(2);
    w.engine.post(running, "alloc");
    w.settle();
    running.shells = Shells::pending;
    w.engine.raise(running, Exception("cancel", 0));
    CHECK(w.settle() == "exception !cancel [CLEANUP] ");
    running.shells = Shells::maybe; // the execution service went away
    w.engine.react(running);
    CHECK(w.settle().empty());
    running.shells = Shells::gone;
    w.engine.post(running, "release", Json::object("ranks", "all", "final", true));
    CHECK(w.settle() == "release free clean [INACTIVE] ");

    auto& mild = w.submit(3);
    w.engine.raise(mild, Exception("odd", 1, "note"));
    CHECK(mild.state == JobState::sched);
}

TEST_CASE("engine: acting waits for the last event, not for memos", "[job-manager]") {
    World w;
    auto& job = w.submit(1);
    w.ledger.flush();
    w.engine.post(job, "memo", Json::object("a", 1));
    w.ledger.flush();
    REQUIRE(w.commits.size() == 2);
    w.commits[0]();
    CHECK(w.told == "submit validate depend priority [SCHED] ");
    w.told.clear();
    w.commits[1]();
    CHECK(w.told == "memo annotations ");

    w.engine.post(job, "urgency", Json::object("userid", 1, "urgency", 5));
    w.ledger.flush();
    w.engine.raise(job, Exception("cancel", 0));
    w.ledger.flush();
    w.told.clear();
    w.commits[2]();
    CHECK(w.told == "urgency priority ");
    w.commits[3]();
    CHECK(w.told == "urgency priority exception !cancel clean [INACTIVE] ");
}

TEST_CASE("engine: jobs go on after a restart", "[job-manager]") {
    World before;
    auto& job = before.submit(1);
    World after;
    auto& adopted = after.jobs.add(std::make_unique<Job>(replay(JobId(1), job.eventlog, "{}", "")));
    after.engine.adopt({adopted.id}, 200);
    CHECK(after.settle() == "flux-restart priority [SCHED] ");

    World reloaded;
    auto& same = reloaded.jobs.add(std::make_unique<Job>(replay(JobId(1), job.eventlog, "{}", "")));
    reloaded.engine.adopt({same.id}, 50);
    CHECK(reloaded.told == "[SCHED] ");
    CHECK(reloaded.ledger.idle());
}

TEST_CASE("engine: times in a log never go back", "[job-manager]") {
    World w;
    auto& job = w.submit(1);
    w.now = 50;
    w.engine.post(job, "memo", Json::object("a", 1));
    CHECK(job.last_event == 100);
    CHECK(decode_eventlog(job.eventlog).back().timestamp == 100);
}

TEST_CASE("engine: exceptions of a plugin's own stop nothing but what they refuse", "[job-manager]") {
    World w;
    w.plugin->rude = true;
    auto& job = w.submit(1);
    CHECK(w.settle() == "submit validate depend [PRIORITY] ");
    CHECK(w.trouble == JobId(1).f58() + ": no priority: test: no idea");
    w.plugin->rude = false;
    w.engine.reprioritize(job);
    CHECK(w.settle() == "priority [SCHED] ");
    w.trouble.clear();
    w.plugin->rude = true;
    w.engine.post(job, "alloc");
    CHECK(w.settle() == "alloc [RUN] ");
    CHECK(w.trouble == JobId(1).f58() + ": plugin at 'alloc': test: too bad");
}

TEST_CASE("engine: a plugin gives a job resources", "[job-manager]") {
    World w;
    w.plugin->own = Json::object("version", 1);
    auto& job = w.submit(1);
    CHECK(w.settle() == "submit validate depend priority alloc [RUN] ");
    CHECK(job.alloc_bypass);
    CHECK(job.R.get<int>("version") == 1);
    w.plugin->own = Json::array();
    w.submit(2);
    CHECK(w.settle() == "submit validate depend priority exception !alloc clean [INACTIVE] ");
}

TEST_CASE("engine: a plugin that comes later hears of active jobs", "[job-manager]") {
    World w;
    auto& waiting = w.submit(1);
    auto& depending = w.submit(2, R"({"dependencies":[{"scheme":"test","value":"a"}]})");
    w.settle();
    auto made = std::make_unique<Behaviour>(w.host);
    made->engine = &w.engine;
    made->jobs = &w.jobs;
    made->factor = 3;
    auto loaded = std::make_unique<TestPlugin>("late", "");
    loaded->plugin.reset(made.release());
    auto& late = w.plugins.prepare(std::move(loaded));
    CHECK_FALSE(w.plugins.contains("late"));
    w.plugins.admit(late);
    w.engine.introduce(late);
    CHECK(waiting.priority == 48);
    CHECK(names(depending) == "submit dependency-add validate dependency-add ");
}
