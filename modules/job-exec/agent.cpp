#include "agent.hpp"

#include "time_limit.hpp"

#include <flux/job_exec_protocol.hpp>
#include <flux/parse_integer.hpp>
#include <flux/shell_protocol.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <unistd.h>

namespace flux::job_exec {
namespace {

namespace protocol = exec_agent_protocol;

double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The server was taken away under a request; it may come back and know more.
bool may_pass(int errnum) { return errnum == EHOSTUNREACH || errnum == ECONNRESET; }

Json lines_of(const std::vector<IoData>& output) {
    auto lines = Json::array();
    for (const auto& io : output) lines.append(Json::object("stream", io.stream, "data", io.data));
    return lines;
}

} // namespace

Agent::Agent(Handle& handle, Scope& scope, std::uint32_t rank, const Settings& settings)
    : handle_(handle),
      scope_(scope),
      rank_(rank),
      settings_(settings),
      table_(settings.kill, settings.kill_signal),
      environment_(current_environment()),
      timer_(handle.loop(), [this] {
          table_.on_time(std::chrono::steady_clock::now(), !session_);
          settle();
      }) {}

void Agent::configure() { table_.configure(settings_.kill, settings_.kill_signal); }

// Beginning ----------------------------------------------------------------------------------------------------------

Task<> Agent::start() {
    co_await read_attributes();
    scope_.spawn(
        "watch the subprocess server", [](Agent* self) { return self->watch_server(); }, this);
    co_await rebuild();
    serve();
    auto on_up = [this](const Message&) { announce(); };
    co_await handle_.subscribe(job_exec_protocol::up_event, on_up);
    announce();
}

Task<> Agent::read_attributes() {
    for (const auto* name : shell_protocol::launch_attributes) {
        auto value = co_await handle_.get_attr(name);
        if (value) attributes_.set(name, *value);
    }
    auto owner = co_await handle_.get_attr("security.owner");
    owner_ = parse_integer<std::uint32_t>(owner.value_or("")).value_or(::getuid());
    auto rundir = attributes_.get<std::string>("rundir");
    files_ = std::make_unique<AgentFiles>(rundir, rank_);
}

// Shells of before go on; what is known of them is in files, whether they run is known to the server.
Task<> Agent::rebuild() {
    struct Found {
        Found(JobId id, Json launch, ShellReport last) : id(id), launch(std::move(launch)), last(std::move(last)) {}
        JobId id;
        Json launch;
        ShellReport last;
    };
    std::vector<Found> found;
    files_->read_all(
        [&](JobId id, JsonView launch, ShellReport last) { found.emplace_back(id, launch.copy(), std::move(last)); },
        [&](JobId id, const Error& error) {
            handle_.log(LogLevel::err, fmt::format("{}: shell file, ignoring: {}", id.f58(), error.what()));
            files_->remove(id);
        });
    if (found.empty()) co_return;
    co_await server_is_up();
    auto processes = co_await rexec::list(handle_, server());
    std::set<std::string> awaited;
    for (auto& shell : found) {
        if (shell.last.state < ShellState::ended) awaited.insert(label_of(shell.id));
        adopt(shell.id, shell.launch, std::move(shell.last), processes);
    }
    // What was noted of these before had not come through to the server.
    for (const auto& process : processes) {
        if (process.state == "Z" && process.label.starts_with(label_prefix()) && !awaited.contains(process.label))
            noted_.push_back(process.label);
    }
    settle();
}

void Agent::adopt(JobId id, JsonView launch, ShellReport last, const std::vector<rexec::ProcessInfo>& processes) {
    AgentJob job(id, launch.get<std::uint32_t>("userid"));
    job.delay = launch.get_or("delay", 0.0);
    set_limit(job, TimeLimit(launch["R"]["execution"]).expiration);
    auto state = last.state;
    table_.adopt(job, std::move(last));
    if (state >= ShellState::ended) return;
    auto label = label_of(id);
    bool there =
        std::any_of(processes.begin(), processes.end(), [&](const auto& process) { return process.label == label; });
    if (there) {
        table_.started(id);
        scope_.spawn("shell", &Agent::run, this, id, std::shared_ptr<RemoteCommand>(), true);
    } else if (state == ShellState::starting) {
        // It was to be started; perhaps it was, or is just being.
        auto command = std::make_shared<RemoteCommand>(command_of(id, launch["start"]));
        scope_.spawn("shell", &Agent::run, this, id, std::move(command), true);
    } else {
        table_.ended(id, std::nullopt, ESRCH, "its process is gone", Json::array());
    }
}

Task<> Agent::watch_server() {
    for (;;) {
        auto query = Json::object("service", settings_.service);
        auto stream = handle_.stream("service.watch", std::move(query));
        while (auto message = co_await stream.next()) {
            server_up_ = message->json().get<bool>("up");
            server_changed_.notify_all();
        }
    }
}

Task<> Agent::server_is_up() {
    while (!server_up_) co_await server_changed_.wait();
}

void Agent::serve() {
    auto serve_jobs = [this](const Method& method, auto act) {
        handle_.serve(method, [this, act](Request request) { for_jobs(request, act); });
    };
    handle_.serve(protocol::hello, [this](Request request) { hello(std::move(request)); });
    handle_.serve(protocol::launch, [this](Request request) {
        for (auto job : request.json().get<JsonView>("jobs").elements()) launch(job);
        settle_soon();
    });
    serve_jobs(protocol::signal, [this](JobId id, int signum) { table_.signal(id, signum); });
    serve_jobs(protocol::release, [this](JobId id, int seq) { table_.release(id, seq); });
    handle_.serve(protocol::expiration, [this](Request request) {
        auto id = request.json().get<JobId>("id");
        const auto* known = table_.job(id);
        if (!known) return;
        auto job = *known;
        set_limit(job, request.json().get<double>("expiration"));
        table_.set_limit(id, job.limit);
        settle_soon();
    });
    handle_.serve(protocol::end, [this](Request request) {
        for (auto id : request.json().get<std::vector<JobId>>("ids"))
            table_.end(id, settings_.term_signal, std::chrono::steady_clock::now());
        settle_soon();
    });
    handle_.serve(protocol::forget, [this](Request request) {
        for (auto id : request.json().get<std::vector<JobId>>("ids")) table_.forget(id);
        settle_soon();
    });
    handle_.serve(protocol::cancel, [this](Request request) {
        if (session_ && session_.same_sender(request) &&
            session_.matchtag() == request.json().get<std::uint32_t>("matchtag"))
            std::exchange(session_, {}).end();
    });
    handle_.serve(protocol::disconnect, [this](Request request) { disconnect(request); });
    handle_.serve(shell_protocol::barrier, [this](Request request) { shell_barrier(std::move(request)); });
}

template <class F> void Agent::for_jobs(const Request& request, F&& act) {
    for (auto entry : request.json().get<JsonView>("jobs").elements()) act(entry[0].as<JobId>(), entry[1].as<int>());
    settle_soon();
}

// The coordinator
// ------------------------------------------------------------------------------------------------------

void Agent::hello(Request request) {
    request.require_streaming();
    if (session_) session_.end();
    resume_session(std::move(request));
}

void Agent::resume_session(Request request) {
    session_ = std::move(request);
    table_.take_changed();
    session_.respond(Json::object("shells", table_.all_reports()));
}

bool Agent::is_session(const Request& request) const noexcept {
    return session_ && session_.same_sender(request) && session_.matchtag() == request.matchtag();
}

void Agent::announce() {
    if (table_.empty() || session_) return;
    auto coordinator = CallOptions().rank(0);
    handle_.notify(job_exec_protocol::announce.topic, Json::object("rank", rank_), coordinator);
}

void Agent::disconnect(const Request& request) {
    waiting_.disconnect(request);
    if (!session_ || !session_.same_sender(request)) return;
    std::exchange(session_, {}).drop();
    announce();
}

void Agent::launch(JsonView job) {
    AgentJob known(job.get<JobId>("id"), job.get<std::uint32_t>("userid"));
    auto id = known.id;
    TimeLimit limit(job["R"]["execution"]);
    known.delay = limit.delay(wall_clock(), settings_.max_start_delay_percent);
    set_limit(known, limit.expiration);
    if (!table_.launch(known)) return;
    try {
        auto file = Json::object("id", id, "userid", known.userid, "owner", owner_, "broker_rank", rank_, "R",
                                 job.get<JsonView>("R"), "J", job.get<JsonView>("J"), "attrs", attributes_.copy(),
                                 "delay", known.delay);
        auto start = Json::object("userid", known.userid, "argv", job.get<JsonView>("argv"));
        if (auto environment = job["env"]) start.set("env", environment.copy());
        auto command = std::make_shared<RemoteCommand>(command_of(id, start));
        file.set("start", std::move(start));
        files_->create(id, file);
        scope_.spawn("shell", &Agent::run, this, id, std::move(command), false);
    } catch (const Error& error) {
        table_.failed(id, error.errnum(), error.what());
    }
}

void Agent::set_limit(AgentJob& job, double expiration) const {
    job.limit.reset();
    if (expiration <= 0) return;
    auto left = expiration + job.delay - wall_clock();
    job.limit = std::chrono::steady_clock::now() + to_duration(std::max(left, 0.0));
}

std::string Agent::label_prefix() const { return fmt::format("shell-{}-", rank_); }
std::string Agent::label_of(JobId id) const { return label_prefix() + id.f58plain(); }

RemoteCommand Agent::command_of(JobId id, JsonView start) const {
    RemoteCommand remote(start.get<std::vector<std::string>>("argv"));
    remote.label = label_of(id);
    auto& command = remote.command;
    command.env = environment_;
    command.setenv("FLUX_KVS_NAMESPACE", shell_protocol::guest_namespace(id));
    // A guest may not read the file; his shell asks for what it needs.
    if (start.get<std::uint32_t>("userid") == owner_) command.setenv(shell_protocol::init_variable, files_->path(id));
    for (auto [name, value] : start["env"].members()) command.setenv(name, value.as<std::string_view>());
    command.cwd = "/tmp";
    return remote;
}

// Processes ----------------------------------------------------------------------------------------------------------

Task<> Agent::run(Agent* self, JobId id, std::shared_ptr<RemoteCommand> command, bool again) {
    if (command) {
        bool started = co_await self->start_shell(id, *command, again);
        command.reset();
        if (!started) co_return;
    }
    co_await self->wait_for_shell(id);
}

Task<bool> Agent::start_shell(JobId id, const RemoteCommand& command, bool again) {
    for (;; again = true) {
        std::optional<Error> failure;
        try {
            co_await rexec::start(handle_, server(), command, true);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure = error;
        }
        // EINVAL: its label is in use, so the first try had come through.
        if (!failure || (again && failure->errnum() == EINVAL)) {
            table_.started(id);
            settle_soon();
            co_return true;
        }
        if (!may_pass(failure->errnum())) {
            table_.failed(id, failure->errnum(), failure->what());
            settle_soon();
            co_return false;
        }
        co_await server_is_up();
    }
}

Task<> Agent::wait_for_shell(JobId id) {
    for (;;) {
        std::optional<Error> failure;
        try {
            auto label = label_of(id);
            auto result = co_await rexec::wait(handle_, server(), label, true);
            table_.ended(id, result.status, 0, {}, lines_of(result.output));
            noted_.push_back(label);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure = error;
        }
        if (failure && (may_pass(failure->errnum()) || failure->errnum() == ENOSYS)) {
            co_await server_is_up();
            continue;
        }
        if (failure) table_.ended(id, std::nullopt, failure->errnum(), failure->what(), Json::array());
        settle_soon();
        co_return;
    }
}

// Shells -------------------------------------------------------------------------------------------------------------

void Agent::shell_barrier(Request request) {
    auto id = request.json().get<JobId>("id");
    auto seq = request.json().get<int>("seq");
    const auto* job = table_.job(id);
    if (!job) throw Error(ENOENT, "there is no such shell here");
    auto credentials = request.credentials();
    if (!credentials.owner() && credentials.userid != job->userid) throw Error(EPERM);
    switch (table_.enter(id, seq)) {
    case AgentTable::Entry::pass: request.respond(); break;
    case AgentTable::Entry::refuse: throw Error(EIO, "the job is over");
    case AgentTable::Entry::wait: waiting_.add(std::move(request), Waiting(id, seq));
    }
    settle_soon();
}

void Agent::answer_waiting() {
    waiting_.remove_if([&](auto& waiting) {
        auto entry = table_.entry(waiting.data.id, waiting.data.seq);
        if (entry == AgentTable::Entry::pass)
            waiting.request.respond();
        else if (entry == AgentTable::Entry::refuse)
            waiting.request.fail(EIO, "the job is over");
        return entry != AgentTable::Entry::wait;
    });
}

// What follows -------------------------------------------------------------------------------------------------------

void Agent::settle_soon() {
    if (std::exchange(settling_, true)) return;
    handle_.loop().post([this] { settle(); });
}

void Agent::settle() {
    settling_ = false;
    save();
    for (const auto& label : std::exchange(noted_, {}))
        rexec::forget(handle_, server(), label).then([](const Message&) {});
    for (auto [id, signum] : table_.take_signals()) {
        auto call = rexec::kill(handle_, server(), label_of(id), signum);
        std::move(call).then([](const Message&) {}); // it may have ended
    }
    answer_waiting();
    auto changed = table_.take_changed();
    if (session_ && !changed.empty()) session_.respond(Json::object("shells", table_.reports_of(changed)));
    timer_.stop();
    if (auto deadline = table_.deadline())
        timer_.start(std::max(*deadline - std::chrono::steady_clock::now(), Duration::zero()));
}

// Before anything is told that must not be forgotten.
void Agent::save() {
    for (auto id : table_.take_unsaved()) {
        try {
            files_->append(table_.report(id));
        } catch (const Error& error) {
            std::erase(noted_, label_of(id));
            handle_.log(LogLevel::err, fmt::format("{}: shell file, ignoring: {}", id.f58(), error.what()));
        }
    }
    for (auto id : table_.take_forgotten()) files_->remove(id);
}

Json Agent::stats() const { return Json::object("shells", table_.size(), "session", static_cast<bool>(session_)); }

} // namespace flux::job_exec
