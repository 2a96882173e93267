#include "core.hpp"

#include "affinity.hpp"
#include "job.hpp"

#include <flux/shell_protocol.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace flux::shell {

using namespace std::chrono_literals;

namespace {

// How long the last messages of a job that was cut short may take.
constexpr auto last_words_limit = 5s;

} // namespace

Core::Core(Loop& loop, std::unique_ptr<Handle> handle, Launch launch)
    : loop_(loop),
      handle_(std::move(handle)),
      launch_(std::move(launch)),
      job_(make_job(launch_.id, launch_.userid, launch_.owner, launch_.broker_rank, launch_.jobspec, launch_.R)),
      options_(launch_.jobspec["attributes"].object_at("system").object_at("shell").object_at("options")),
      incomplete_shells_(Idset::below(job_.size)),
      journal_(loop, [this](const Error& error) { fatal(1, std::string("cannot write eventlogs: ") + error.what()); }),
      links_(*this, job_.rank),
      proctable_(*this),
      root_(loop),
      work_(root_) {}

Core::~Core() = default;

int Core::run() { return run_task<int>(root_, &Core::main, this); }

Task<int> Core::main(Core* self) {
    self->work_.spawn("shell", &Core::job, self);
    while (!self->over_) co_await self->changed_.wait();
    co_await self->work_.close();
    co_await self->conclude();
    co_return self->exit_code_;
}

Task<> Core::job(Core* self) {
    try {
        co_await self->prepare();
        co_await self->start_tasks();
        co_await self->wait_for_holds();
        self->over_ = true;
        self->changed_.notify_all();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        self->fatal(1, error.what());
    }
}

Task<> Core::prepare() {
    if (!standalone()) journal_.open(*handle_, job_.guest_namespace);
    early_ = standalone();
    connected();
    auto verbose = options_.get_or("verbose", 0);
    if (verbose > 2) log(Level::warning, {}, "verbose=" + std::to_string(verbose) + " is more than there is, using 2");
    eventlog_level_ = stderr_level_ = static_cast<Level>(static_cast<int>(Level::notice) + std::clamp(verbose, 0, 2));
    process_groups_ = options_.get_or("nosetpgrp", 0) == 0;
    co_await offer_services();
    enter_directory();
    load_plugins();
    check_options();
    apply_taskmap();
    for (const auto& change : trim_unused_slots(job_)) log(Level::warning, {}, change);
    auto command = job_.jobspec.command();
    unsigned local_id = 0;
    for (auto rank : job_.self().taskids) tasks_.push_back(std::make_unique<LocalTask>(rank, local_id++, command));
    make_environment();
    for (int signum : {SIGINT, SIGTERM, SIGALRM})
        signals_.emplace_back(loop_, signum, [this](int signal) {
            pending_signal_ = signal;
            kill_tasks(signal);
        });
    each_plugin("critical_ranks", [this](Plugin& plugin) { plugin.critical_ranks(Idset::below(job_.size)); });
    co_await init_plugins();
}

Task<> Core::start_tasks() {
    co_await barrier(1);
    links_.open();
    post_event("shell.init",
               Json::object("service", job_.service, "leader-rank", job_.ranks[0].broker_rank, "size", job_.size));
    co_await each_plugin(&Plugin::post_init);
    for (auto& task : tasks_) start_task(*task);
    co_await each_plugin(&Plugin::start);
    co_await barrier(2);
    post_event("shell.start", Json::object("taskmap", job_.taskmap.to_json()));
    started_ = true;
    for (auto* task : std::exchange(early_exits_, {})) task_completed(*task);
}

void Core::start_task(LocalTask& task) {
    each_plugin(&Plugin::task_init, task);
    for (auto& argument : task.argv())
        if (argument.find("{{") != argument.npos) argument = render(argument, job_.rank, &task);
    task.environment()["FLUX_TASK_RANK"] = std::to_string(task.rank());
    task.environment()["FLUX_TASK_LOCAL_ID"] = std::to_string(task.local_id());
    try {
        task.start(loop_, environment_, process_groups_, [this, &task] { task_completed(task); });
    } catch (const Error& error) {
        fatal(exec_failure_code(error.errnum()), "task " + std::to_string(task.rank()) + " (host " + job_.self().host +
                                                     "): start failed: " + task.argv()[0] + ": " +
                                                     errno_text(error.errnum()));
        throw Cancelled();
    }
    ++running_tasks_;
    add_hold();
    if (pending_signal_) task.kill(pending_signal_);
    each_plugin(&Plugin::task_fork, task);
}

void Core::task_completed(LocalTask& task) {
    if (over_) return;
    if (!started_) return early_exits_.push_back(&task); // what it causes comes after shell.start
    log(Level::debug, {},
        "task " + std::to_string(task.rank()) + " complete status=" + std::to_string(task.exit_code()));
    exit_code_ = std::max(exit_code_, task.exit_code());
    each_plugin("task_exit", [&](Plugin& plugin) { plugin.task_exit(task); });
    --running_tasks_;
    unhold();
}

void Core::unhold() noexcept {
    --holds_;
    changed_.notify_all();
}

Task<> Core::wait_for_holds() {
    while (running_tasks_ > 0) co_await changed_.wait();
    try {
        co_await each_plugin(&Plugin::finish);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        log(Level::error, {}, std::string("finish failed: ") + error.what());
    }
    co_await end_rexec();
    if (leader())
        shell_tasks_complete(0);
    else
        send(0, shell_protocol::tasks_complete, Json::object());
    while (holds_ > 0) co_await changed_.wait();
}

// The end, however it came: nothing of the job is under way any more.
Task<> Core::conclude() {
    if (fatal_text_) {
        log(Level::fatal, {}, *fatal_text_);
        kill_tasks(SIGKILL);
        raise("exec", 0, *fatal_text_, std::nullopt);
    }
    if (!each_plugin("exit", [](Plugin& plugin) { plugin.exit(); })) exit_code_ = std::max(exit_code_, 1);
    remove_tmpdir();
    if (standalone()) co_return;
    Timer limit(loop_, [this] { root_.abort(); });
    if (cut_short_) limit.start(last_words_limit);
    try {
        while (raising_) co_await changed_.wait();
        co_await journal_.drained();
    } catch (const Error& error) {
        log_to_stderr(LogRecord{Level::error, "shell", error.what(), static_cast<int>(job_.rank)});
    }
    handle_->flush();
}

Task<> Core::barrier(int sequence) {
    if (job_.size == 1) co_return;
    auto payload = Payload::from_json(Json::object("id", job_.id, "rank", launch_.broker_rank, "seq", sequence));
    try {
        co_await ask(std::string(shell_protocol::barrier.topic), payload, CallOptions());
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        if (error.errnum() != EIO) throw error.while_doing("barrier");
        quit(1);
        throw Cancelled();
    }
}

void Core::post_event(std::string_view name, Json context) {
    if (!leader()) return;
    context.update(event_context_[name]);
    append_event(shell_protocol::exec_eventlog_key, EventlogEntry(name, std::move(context)));
}

void Core::add_event_context(std::string_view event, JsonView context) {
    event_context_.object_at(event).update(context);
}

void Core::quit(int exit_code) {
    if (over_) return;
    exit_code_ = std::max(exit_code_, exit_code);
    over_ = cut_short_ = true;
    kill_tasks(SIGKILL);
    changed_.notify_all();
}

void Core::fatal(int exit_code, std::string_view text) {
    if (over_) return;
    fatal_text_ = text;
    exit_code_ = 0; // what tasks returned that are killed now means nothing
    quit(exit_code);
}

std::vector<ShellTask*> Core::tasks() {
    std::vector<ShellTask*> result;
    for (auto& task : tasks_) result.push_back(task.get());
    return result;
}

void Core::kill_tasks(int signum) noexcept {
    for (auto& task : tasks_) task->kill(signum);
}

void Core::enable_output(bool on) {
    for (auto& task : tasks_) task->enable_output(on);
}

std::string Core::render(std::string_view text, unsigned rank, ShellTask* task) {
    if (text.find("{{") == text.npos) return std::string(text);
    auto unknown = [this](std::string_view tag) -> std::optional<std::string> {
        if (tag == "tmpdir") return env("FLUX_JOB_TMPDIR");
        for (auto& [name, plugin, file] : plugins_)
            if (auto value = plugin->render_tag(tag)) return value;
        return std::nullopt;
    };
    auto complain = [this](const std::string& text) { log(Level::error, {}, text); };
    return Renderer(job_, unknown, complain).render(text, rank, task);
}

bool Core::renders_per_shell(std::string_view text) {
    if (job_.size == 1) return false;
    auto unknown = [](std::string_view) { return std::nullopt; };
    auto silent = [](const std::string&) {};
    return Renderer(job_, unknown, silent).varies(text, tasks_.empty() ? nullptr : tasks_.front().get());
}

void Core::bind(const Idset& cpus) { set_thread_affinity(cpus); }

const std::vector<Idset>& Core::core_cpus() {
    if (core_cpus_.empty()) core_cpus_ = launch_.cpusets.empty() ? read_core_cpus() : std::move(launch_.cpusets);
    return core_cpus_;
}

} // namespace flux::shell
