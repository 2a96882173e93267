// From boot to exit: the phases of a broker's life (broker.md 6).
#include "broker/broker.hpp"

#include <flux/config_files.hpp>
#include <flux/duration.hpp>
#include <flux/hostlist.hpp>
#include <flux/paths.hpp>
#include <flux/version.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <pmi/client.hpp>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace flux::broker {
namespace {

constexpr const char* default_topology = "kary:32";

std::string temporary_directory(const char* fallback) {
    const char* parent = std::getenv("TMPDIR");
    std::string path = fmt::format("{}/flux-XXXXXX", parent ? parent : fallback);
    if (!::mkdtemp(path.data()))
        throw Error(errno, fmt::format("cannot make directory {}: {}", path, errno_text(errno)));
    return path;
}

std::string own_hostname() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

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
            co_await run_rc1();
            up = !stop_requested_;
        } catch (const Error& error) {
            log(LogLevel::err, fmt::format("rc1: {}", error.what()));
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
            co_await run_cleanup();
        }
    }
    stop_requested_ = true;
    machine_.enter(State::shutdown, up ? "cleanup-success" : joined ? "rc1-fail" : "parent-fail");
    co_await overlay_->children_gone();
    machine_.enter(State::finalize, "children-complete");
    co_await run_rc3();
    machine_.enter(State::goodbye, "rc3-success");
    co_await say_goodbye();
    machine_.enter(State::unload_builtins, "goodbye");
}

// Boot ----------------------------------------------------------------------------------------------------------

void Broker::run_directory() {
    if (auto given = attributes_.get("rundir")) {
        rundir_ = *given;
        struct stat info {};
        if (::stat(rundir_.c_str(), &info) == 0) {
            if (!S_ISDIR(info.st_mode)) throw Error(ENOTDIR, fmt::format("rundir {} is not a directory", rundir_));
            if (info.st_mode & S_ISVTX) {
                rundir_ += "/flux-XXXXXX";
                if (!::mkdtemp(rundir_.data()))
                    throw Error(errno, fmt::format("cannot make directory {}: {}", rundir_, errno_text(errno)));
                rundir_made_ = true;
            }
        } else if (::mkdir(rundir_.c_str(), 0700) == 0) {
            rundir_made_ = true;
        } else if (errno != EEXIST) {
            throw Error(errno, fmt::format("cannot make rundir {}: {}", rundir_, errno_text(errno)));
        }
    } else {
        rundir_ = temporary_directory("/tmp");
        rundir_made_ = true;
    }
    attributes_.set("rundir", rundir_);
    if (!attributes_.is_set("rundir-cleanup")) attributes_.set("rundir-cleanup", rundir_made_ ? "1" : "0");
}

void Broker::state_directory() {
    if (rank_ != 0) return;
    if (auto given = attributes_.get("statedir")) {
        statedir_ = *given;
        if (::mkdir(statedir_.c_str(), 0700) < 0 && errno != EEXIST)
            throw Error(errno, fmt::format("cannot make statedir {}: {}", statedir_, errno_text(errno)));
    } else {
        statedir_ = temporary_directory("/var/tmp");
        statedir_made_ = true;
    }
    attributes_.set("statedir", statedir_);
    if (!attributes_.is_set("statedir-cleanup")) attributes_.set("statedir-cleanup", statedir_made_ ? "1" : "0");
}

void Broker::remove_directories() {
    std::error_code ignored;
    if (!rundir_.empty() && attributes_.get_or("rundir-cleanup", "0") == "1") fs::remove_all(rundir_, ignored);
    if (!statedir_.empty() && attributes_.get_or("statedir-cleanup", "0") == "1") fs::remove_all(statedir_, ignored);
}

Json Broker::load_config(const std::string& path) const {
    auto config = Json::object();
    if (!path.empty()) config = read_config(path);
    for (const auto& spec : options_.config_specs) {
        auto more = parse_config_spec(spec);
        merge_config(config, more);
    }
    return config;
}

// A broker that runs as a task of a job learns from the job's shell where it is (broker.md 6.8). What tasks find in
// their environment is about that job and nothing that our own processes should see.
void Broker::find_enclosing_instance(pmi::Client& pmi) {
    auto level = pmi.singleton() ? std::nullopt : pmi.find("flux.instance-level");
    attributes_.set("instance-level", level.value_or("0"));
    const char* path = std::getenv("FLUX_JOB_ID_PATH");
    attributes_.set("jobid-path", level && path ? path : "/");
    if (level) {
        attributes_.set("jobid", pmi.kvsname());
        if (const char* uri = std::getenv("FLUX_URI")) attributes_.set("parent-uri", uri);
        if (const char* name = std::getenv("FLUX_KVS_NAMESPACE")) attributes_.set("parent-kvs-namespace", name);
    }
    for (auto name : {"FLUX_URI", "FLUX_PROXY_REMOTE", "FLUX_KVS_NAMESPACE", "FLUX_JOB_ID_PATH"}) ::unsetenv(name);
}

void Broker::boot() {
    if (options_.verbose > 0) {
        attributes_.set("log-stderr-level", options_.verbose > 1 ? "7" : "6");
        attributes_.set("log-stderr-mode", "local");
    }
    for (const auto& [name, value] : options_.attributes) attributes_.set_from_command_line(name, value);
    std::string config_path;
    if (options_.config_path)
        config_path = *options_.config_path;
    else if (auto given = attributes_.get("config.path"))
        config_path = *given;
    else if (const char* environment = std::getenv("FLUX_CONF_DIR"))
        config_path = environment;
    if (!config_path.empty()) attributes_.set("config.path", config_path);
    config_ = load_config(config_path);

    auto hostname = attributes_.get_or("hostname", own_hostname());
    attributes_.set("hostname", hostname);
    uuid_ = make_uuid();
    auto pmi = pmi::Client::from_environment();
    pmi.init();
    rank_ = pmi.rank();
    size_ = pmi.size();
    router_.set_rank(rank_);
    log_.set_rank(rank_);
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    attributes_.set("rank", std::to_string(rank_));
    attributes_.set("size", std::to_string(size_));
    attributes_.set("version", version);
    attributes_.set("vendor.version", vendor_version);
    attributes_.set("security.owner", std::to_string(::getuid()));
    attributes_.set("broker.pid", std::to_string(::getpid()));
    attributes_.set("broker.uuid", uuid_);
    attributes_.set("broker.starttime",
                    fmt::format("{:.2f}", static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9));
    attributes_.set("broker.boot-method", pmi.singleton() ? "single" : "simple");
    find_enclosing_instance(pmi);
    if (!attributes_.is_set("broker.rc1_path")) attributes_.set("broker.rc1_path", "flux modprobe rc1");
    if (!attributes_.is_set("broker.rc3_path")) attributes_.set("broker.rc3_path", "flux modprobe rc3");
    auto fallback = [&](const char* name, std::string value) {
        if (!attributes_.is_set(name)) attributes_.set(name, std::move(value));
    };
    fallback("broker.quorum", std::to_string(size_));
    fallback("content.hash", "sha1");
    fallback("content.backing-module", "content-sqlite");
    for (auto [name, value] : {std::pair{"log-ring-size", "1024"},
                               {"log-level", "7"},
                               {"log-stderr-level", "3"},
                               {"log-stderr-mode", "leader"},
                               {"log-forward-level", "3"},
                               {"log-critical-level", "2"},
                               {"log-syslog-enable", "0"},
                               {"log-syslog-level", "3"},
                               {"broker.quorum-warn", "1m"},
                               {"broker.shutdown-warn", "1m"},
                               {"broker.shutdown-timeout", "none"},
                               {"broker.cleanup-timeout", "none"}})
        fallback(name, value);
    log_.configure(attributes_);
    run_directory();
    state_directory();
    fallback("local-uri", fmt::format("local://{}/local-{}", rundir_, rank_));

    std::string scheme = default_topology;
    if (auto fanout = attributes_.get("tbon.fanout")) scheme = "kary:" + *fanout;
    if (auto configured = config_.find("tbon.topo").try_as<std::string>()) scheme = *configured;
    if (auto given = attributes_.get("tbon.topo")) scheme = *given;
    attributes_.set("tbon.topo", scheme);
    Topology topology(scheme, size_);
    attributes_.set("tbon.level", std::to_string(topology.level(rank_)));
    attributes_.set("tbon.maxlevel", std::to_string(topology.max_level()));
    attributes_.set("tbon.descendants", std::to_string(topology.descendants(rank_)));
    Idset critical{0};
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        if (!topology.children(rank).empty()) critical.set(rank);
    }
    fallback("broker.critical-ranks", critical.encode());
    fallback("broker.mapping", fmt::format("[[0,1,{},1]]", size_));

    handle_ = std::make_unique<Handle>(loop_, std::make_unique<BuiltinTransport>(loop_, router_, uuid_));
    Overlay::Environment overlay;
    overlay.rank = rank_;
    overlay.hostname = hostname;
    overlay.uuid = uuid_;
    overlay.hello_answer = [this] {
        return Json::object("hostlist", attributes_.get_or("hostlist", ""), "config", config_.copy(), "critical-ranks",
                            attributes_.get_or("broker.critical-ranks", ""));
    };
    overlay.accepting = [this] { return machine_.state() < State::cleanup; };
    overlay.host_of = [this](std::uint32_t rank) { return hosts_[rank].try_as<std::string>().value_or("unknown"); };
    overlay.log = [this](LogLevel level, const std::string& text) { log(level, text); };
    overlay.on_ranks_gone = [this](const Idset& ranks) { groups_->remove(ranks); };
    overlay.on_parent_lost = [this](const std::string& why) {
        if (stop_requested_ && machine_.state() >= State::goodbye) return;
        log(LogLevel::crit, why);
        parent_lost_ = true;
        set_exit_code(1);
        request_stop("parent-fail");
        interrupt_.notify_all();
    };
    overlay_ = std::make_unique<Overlay>(loop_, router_, *handle_, topology, std::move(overlay));

    // The socket must be there before anybody learns of it.
    auto socket_of = [](const std::string& uri) {
        if (!uri.starts_with("ipc://")) throw Error(EINVAL, "cannot connect to parent URI '" + uri + "'");
        return uri.substr(6);
    };
    auto tbon_path = fmt::format("{}/tbon-{}", rundir_, rank_);
    if (!topology.children(rank_).empty()) {
        overlay_->listen(tbon_path);
        attributes_.set("tbon.endpoint", "ipc://" + tbon_path);
    }
    Hostlist hostlist;
    if (size_ > 1) {
        auto card = Json::object("host", hostname, "uri", Json::array_of("ipc://" + tbon_path));
        pmi.put(std::to_string(rank_), card.dump());
        pmi.barrier();
        if (auto parent = topology.parent(rank_)) {
            auto theirs = Json::parse(pmi.get(std::to_string(*parent)), "business card of the parent");
            parent_path_ = socket_of(theirs["uri"][std::size_t(0)].as<std::string>());
            attributes_.set("tbon.parent-endpoint", "ipc://" + parent_path_);
        }
        if (rank_ == 0) {
            hostlist.push_back(hostname);
            for (std::uint32_t rank = 1; rank < size_; ++rank)
                hostlist.push_back(
                    Json::parse(pmi.get(std::to_string(rank)), "business card").get<std::string>("host"));
        }
    } else {
        hostlist.push_back(hostname);
    }
    pmi.finalize();
    if (rank_ == 0) {
        fallback("hostlist", hostlist.encode());
        hosts_ = Json(std::vector<std::string>(hostlist.begin(), hostlist.end()));
    }

    groups_ = std::make_unique<Groups>(loop_, *handle_, rank_);
    ModuleHost::Environment host;
    host.copies = rundir_ + "/so";
    host.exec_program = paths::libexecdir() + "/flux-module-exec";
    if (const char* search = std::getenv("FLUX_MODULE_PATH")) {
        std::string_view rest(search);
        while (!rest.empty()) {
            auto folder = rest.substr(0, rest.find(':'));
            if (!folder.empty()) host.search.emplace_back(folder);
            rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        }
    }
    host.search.push_back(paths::moduledir());
    if (auto limit = attributes_.get("vendor.module-limit")) {
        auto time =
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(parse_duration(*limit)));
        host.start_limit = time;
        host.stop_limit = time;
    }
    host.attributes = [this] { return attributes_.immutable_json(); };
    host.config = [this] { return config_.copy(); };
    host.log = [this](LogLevel level, const std::string& text) { log(level, text); };
    host.panic = [this](const std::string& name, const std::string& why) { panic(name, why); };
    host.dependants = [this](const std::string& name) { return modprobe_->dependants(name, *host_); };
    host_ = std::make_unique<ModuleHost>(loop_, router_, scope_, std::move(host));
    modprobe_ = std::make_unique<Modprobe>();

    Connector::Environment connector;
    connector.log = [this](LogLevel level, const std::string& text) { log(level, text); };
    connector.online = [this] { return machine_.state() >= State::init; };
    connector_ = std::make_unique<Connector>(loop_, router_, std::move(connector));
    connector_->configure(config_);
    serve();
    log_.serve(*handle_);
    machine_.serve(*handle_);
    connector_->serve(*handle_);
    auto local_uri = *attributes_.get("local-uri");
    if (!local_uri.starts_with("local://")) throw Error(EINVAL, "local-uri must begin with local://");
    connector_->listen(local_uri.substr(8));

    ::signal(SIGPIPE, SIG_IGN);
    for (int signum : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2})
        signals_.push_back(
            std::make_unique<SignalWatcher>(loop_, signum, [this](int received) { on_signal(received); }));
}

// Join, rc1, quorum ---------------------------------------------------------------------------------------------

Task<> Broker::join() {
    auto answer = co_await overlay_->join(parent_path_);
    auto hostlist = answer.get<std::string>("hostlist");
    attributes_.set("hostlist", hostlist);
    auto hosts = Hostlist::parse(hostlist);
    hosts_ = Json(std::vector<std::string>(hosts.begin(), hosts.end()));
    config_ = answer["config"].copy();
    scope_.spawn("parent watch", &Broker::watch_parent, this);
    while (parent_state_ < State::quorum && !stop_requested_) co_await interrupt_.wait();
}

Task<> Broker::watch_parent(Broker* self) {
    auto payload = Json::object("final", static_cast<int>(State::shutdown));
    try {
        auto options = CallOptions().upstream();
        auto stream = self->handle_->stream("state-machine.monitor", std::move(payload), options);
        for (;;) {
            auto message = co_await stream.next();
            if (!message) break;
            self->parent_state_ = static_cast<State>(message->json().get<int>("state"));
            if (self->parent_state_ >= State::shutdown) self->request_stop("shutdown");
            self->interrupt_.notify_all();
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        // The link tells of its loss itself.
    }
}

Task<> Broker::run_rc1() {
    auto rc1 = attributes_.get_or("broker.rc1_path", "");
    if (rc1.empty()) co_return;
    if (rc1 != "flux modprobe rc1") {
        int code = co_await run_script("rc1", rc1);
        if (code != 0) {
            set_exit_code(attributes_.is_set("broker.exit-norestart") ? failure_code() : code);
            throw Error(ECANCELED, fmt::format("{} exited with {}", rc1, code));
        }
        co_return;
    }
    auto manifest = paths::datadir() + "/modprobe/modprobe.toml";
    auto table = read_config(manifest);
    modprobe_->add(table, manifest);
    std::vector<std::string> folders{paths::datadir() + "/modprobe/modprobe.d",
                                     paths::sysconfdir() + "/flux/modprobe/modprobe.d"};
    if (const char* path = std::getenv("FLUX_MODPROBE_PATH")) folders = {path};
    for (const auto& folder : folders) {
        if (!fs::is_directory(folder)) continue;
        auto more = read_config(folder);
        modprobe_->add(more, folder);
    }
    modprobe_->add(config_["modules"], "[modules]");
    Modprobe::Facts facts;
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
    modprobe_->select(std::move(facts));

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
    if (rank_ == 0 && !std::getenv("FLUX_DISABLE_JOB_CLEANUP")) {
        auto commands = modprobe_->cleanup_commands();
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
    Program::Options options;
    const char* shell = std::getenv("SHELL");
    options.argv = {shell && *shell ? shell : "/bin/bash", "-c", command};
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
        fmt::format("{}.0: {} Exited (rc={}) {:.1f}s", phase, command, code, seconds));
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
