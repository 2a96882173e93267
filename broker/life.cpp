// From boot to exit: the phases of a broker's life (broker.md 6).
#include "broker/broker.hpp"

#include <flux/duration.hpp>
#include <flux/hostlist.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <signal.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace flux::broker {
namespace {

// How long a broker that is about to be restarted works off what its children have asked.
constexpr auto requests_limit = std::chrono::seconds(10);

} // namespace

Broker::Broker(Options options)
    : options_(std::move(options)), scope_(loop_, [this](const char* what, const std::exception& error) {
          log(LogLevel::err, fmt::format("{}: {}", what, error.what()));
      }) {
    machine_.log = [this](LogLevel level, const std::string& text) { log(level, text); };
}

// The parts call back into the broker while they go, so they go before its members, however run() ended.
Broker::~Broker() {
    signals_.clear();
    scope_.abort();
    loop_.run_ready();
    connector_.reset();
    overlay_.reset();
    groups_.reset();
    host_.reset();
    handle_.reset();
    remove_directories();
}

int Broker::run() { return run_task<int>(scope_, &Broker::run_life, this); }

Task<int> Broker::run_life(Broker* self) { return self->life(); }

Task<int> Broker::life() {
    bool booted = false;
    try {
        boot();
        booted = true;
    } catch (const Error& error) {
        log(LogLevel::crit, error.what());
        set_exit_code(failure_code());
    }
    if (booted) co_await live();
    machine_.enter(State::exit, "builtins-done");
    co_return exit_code_;
}

Task<> Broker::live() {
    machine_.enter(State::join, "builtins-success");
    bool joined = true;
    if (rank_ > 0) {
        try {
            co_await join();
        } catch (const Error& error) {
            log(LogLevel::crit, fmt::format("overlay.hello: {}", error.what()));
            set_exit_code(1);
            joined = false;
        }
    }
    bool up = false;
    if (joined && !stop_requested_) {
        machine_.enter(State::config_sync, rank_ > 0 ? "parent-ready" : "parent-none");
        machine_.enter(State::init, rank_ > 0 ? "sync-success" : "sync-none");
        try {
            co_await tell_enclosing_instance();
            co_await run_rc1();
            up = !stop_requested_;
        } catch (const Error& error) {
            log(LogLevel::err, fmt::format("rc1: {}", error.what()));
            if (recovering())
                up = !stop_requested_; // what there is may be enough to find out what is wrong
            else
                set_exit_code(failure_code());
        }
    }
    if (up) {
        machine_.enter(State::quorum, "rc1-success");
        co_await wait_for_quorum();
        if (!stop_requested_) {
            machine_.enter(State::run, "quorum-full");
            co_await run_initial_program();
            machine_.enter(State::cleanup, rank_ > 0 ? "shutdown" : exit_code_ == 0 ? "rc2-success" : "rc2-fail");
            if (!restarting_) co_await run_cleanup();
        }
    }
    stop_requested_ = true;
    overlay_->give_up("this broker shuts down");
    machine_.enter(State::shutdown, up ? "cleanup-success" : joined ? "rc1-fail" : "parent-fail");
    if (restarting_)
        co_await overlay_->requests_done(requests_limit);
    else
        co_await overlay_->children_gone();
    machine_.enter(State::finalize, "children-complete");
    co_await run_rc3();
    machine_.enter(State::goodbye, "rc3-success");
    co_await say_goodbye();
    machine_.enter(State::unload_builtins, "goodbye");
}

// rc1, quorum ---------------------------------------------------------------------------------------------------

Task<> Broker::run_rc1() {
    auto rc1 = attributes_.get_or("broker.rc1_path", "");
    if (rc1.empty()) co_return;
    if (rc1 != "flux modprobe rc1") {
        int code = co_await run_script("rc1", rc1);
        if (code != 0) {
            if (!recovering()) set_exit_code(attributes_.is_set("broker.exit-norestart") ? failure_code() : code);
            throw Error(ECANCELED, fmt::format("{} exited with {}", rc1, code));
        }
        co_return;
    }
    auto& manifest = modprobe_->manifest;
    manifest.add_installed(config_);
    Manifest::Facts facts;
    facts.rank = rank_;
    facts.size = size_;
    facts.config_has = [this](const std::string& key) {
        auto value = config_.find(key);
        return value && !(value.is_bool() && !value.as<bool>());
    };
    facts.attribute_set = [this](const std::string& name) { return attributes_.get(name).has_value(); };
    facts.alternatives["content-backing"] = attributes_.get_or("content.backing-module", "content-sqlite");
    if (const char* sched = std::getenv("FLUX_SCHED_MODULE"))
        facts.alternatives["sched"] = facts.alternatives["feasibility"] = sched;
    manifest.select(std::move(facts));

    co_await prepare_snapshots();
    Scope loading(scope_);
    phase_ = &loading;
    std::exception_ptr failure;
    try {
        co_await modprobe_->load_all(*host_, loading);
    } catch (...) {
        failure = std::current_exception();
    }
    phase_ = nullptr;
    co_await loading.close();
    if (failure) std::rethrow_exception(failure);
    if (rank_ == 0) co_await log_start();
    if (rank_ == 0 && !std::getenv("FLUX_DISABLE_JOB_CLEANUP")) {
        auto commands = manifest.cleanup_commands();
        cleanup_.insert(cleanup_.end(), commands.begin(), commands.end());
    }
}

Task<> Broker::wait_for_quorum() {
    groups_->join("broker.online");
    if (rank_ > 0) {
        while (parent_state_ < State::run && parent_state_ != State::init && !stop_requested_)
            co_await interrupt_.wait();
        co_return;
    }
    auto text = attributes_.get_or("broker.quorum", "1");
    std::size_t quorum = std::min<std::size_t>(std::strtoul(text.c_str(), nullptr, 10), size_);
    groups_->on_change = [this](const std::string& name) {
        if (name == "broker.online") interrupt_.notify_all();
    };
    auto warn = attributes_.get_or("broker.quorum-warn", "1m");
    Timer slow(loop_, [&] {
        Hostlist missing;
        for (std::uint32_t rank = 0; rank < size_; ++rank) {
            if (!groups_->members("broker.online").test(rank)) missing.push_back(hosts_[rank].as<std::string>());
        }
        log(LogLevel::err, fmt::format("quorum delayed: waiting for {} (rank {})", missing.encode(), rank_));
    });
    if (warn != "none") {
        auto period =
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(parse_duration(warn)));
        slow.start(period, period);
    }
    while (groups_->members("broker.online").count() < quorum && !stop_requested_) co_await interrupt_.wait();
}

// Run and after -------------------------------------------------------------------------------------------------

bool Broker::recovering() const { return attributes_.is_set("broker.recovery-mode"); }

std::string Broker::recovery_banner() const {
    std::string text = "This is an instance in recovery mode: no jobs, no other brokers.\n";
    for (auto name : {"broker.rc1_path", "broker.rc3_path", "config.path", "statedir"})
        text += fmt::format("  {:<16} {}\n", name, attributes_.get_or(name, "-"));
    return text + "Leave the shell to end it.\n";
}

Task<> Broker::run_initial_program() {
    if (rank_ > 0 || attributes_.is_set("broker.rc2_none")) {
        while (!stop_requested_) co_await interrupt_.wait();
        co_return;
    }
    Program::Options options;
    const char* shell = std::getenv("SHELL");
    std::string sh = shell && *shell ? shell : "/bin/sh";
    const auto& command = options_.command;
    if (command.empty()) {
        if (!::isatty(0)) {
            log(LogLevel::err, "stdin is not a tty - can't run interactive shell");
            set_exit_code(1);
            co_return;
        }
        options.argv = {sh};
        if (recovering()) fmt::print(stderr, "{}", recovery_banner());
    } else if (command.size() == 1) {
        bool plain = command[0].find_first_of(" \t") == std::string::npos;
        if (plain && fs::is_regular_file(command[0]) && ::access(command[0].c_str(), X_OK) == 0)
            options.argv = command;
        else
            options.argv = {sh, "-c", command[0]};
    } else {
        options.argv = command;
    }
    options.environment = program_environment(*attributes_.get("local-uri"), attributes_.get_or("jobid", ""));
    options.foreground = true;
    options.own_group = ::getpgrp() != ::getpid() || attributes_.is_set("broker.rc2_pgrp");
    int code = 1;
    try {
        program_ = std::make_unique<Program>(loop_, std::move(options));
        if (stop_requested_) program_->kill(SIGHUP);
        code = co_await program_->wait();
    } catch (const Error& error) {
        log(LogLevel::err, error.what());
        code = error.errnum() == ENOENT ? 127 : 126;
    }
    program_.reset();
    set_exit_code(code);
}

Task<int> Broker::run_script(std::string phase, std::string command) {
    const char* shell = std::getenv("SHELL");
    std::vector<std::string> argv{shell && *shell ? shell : "/bin/bash", "-c", command};
    int code = co_await run_logged(std::move(phase), std::move(argv), std::move(command));
    co_return code;
}

Task<int> Broker::run_logged(std::string phase, std::vector<std::string> argv, std::string what) {
    Program::Options options;
    options.argv = std::move(argv);
    options.environment = program_environment(*attributes_.get("local-uri"), attributes_.get_or("jobid", ""));
    options.on_output = [this, phase](bool error, const std::string& line) {
        log(error ? LogLevel::err : LogLevel::info, fmt::format("{}.0: {}", phase, line));
    };
    auto start = std::chrono::steady_clock::now();
    program_ = std::make_unique<Program>(loop_, std::move(options));
    int code = co_await program_->wait();
    program_.reset();
    auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    log(code == 0 ? LogLevel::info : LogLevel::err,
        fmt::format("{}.0: {} Exited (rc={}) {:.1f}s", phase, what, code, seconds));
    co_return code;
}

Task<> Broker::run_cleanup() {
    stop_requested_ = true;
    while (!cleanup_.empty()) {
        auto command = std::move(cleanup_.back());
        cleanup_.pop_back();
        set_exit_code(co_await run_script("cleanup", command));
    }
}

Task<> Broker::run_rc3() {
    auto rc3 = attributes_.get_or("broker.rc3_path", "");
    if (!rc3.empty() && rc3 != "flux modprobe rc3") set_exit_code(co_await run_script("rc3", rc3));
    auto logger = [this](LogLevel level, const std::string& text) { log(level, text); };
    std::function<void(LogLevel, const std::string&)> report = logger;
    co_await log_finish();
    co_await modprobe_->remove_all(*host_, report);
}

Task<> Broker::say_goodbye() {
    co_await overlay_->goodbye();
    shutdown_clients_.remove_if([](auto& entry) {
        entry.request.end();
        return true;
    });
}

// What ends it --------------------------------------------------------------------------------------------------

void Broker::set_exit_code(int code) {
    if (exit_code_ == 0) exit_code_ = code;
}

int Broker::failure_code() const {
    auto code = attributes_.get("broker.exit-norestart");
    return code ? std::atoi(code->c_str()) : 1;
}

void Broker::request_stop(const std::string&) {
    if (std::exchange(stop_requested_, true)) return;
    if (program_) program_->kill(SIGHUP);
    if (phase_) phase_->abort();
    interrupt_.notify_all();
}

void Broker::on_signal(int signum) {
    log(LogLevel::info, fmt::format("signal {}", signum));
    if (machine_.state() == State::cleanup && program_) program_->kill(SIGHUP);
    if (machine_.state() < State::cleanup) {
        if (machine_.state() < State::run) set_exit_code(1);
        if (signum == SIGTERM) announce_restart();
        request_stop("signal");
    }
}

void Broker::panic(const std::string& name, const std::string& why) {
    log(LogLevel::crit, fmt::format("{} module runtime failure: {}", name, why));
    if (auto nopanic = attributes_.get("broker.module-nopanic"); nopanic && *nopanic != "0") return;
    set_exit_code(failure_code());
    request_stop("panic");
}

} // namespace flux::broker
