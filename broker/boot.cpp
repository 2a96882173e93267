// From the command line to a broker that can serve: who it is, its directories, its parts (broker.md 5, 7, 8).
#include "broker/bootstrap/tbon_table.hpp"
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
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace flux::broker {
namespace {

// In the directory `parent`.
std::string make_directory(const std::string& parent) {
    auto path = parent + "/flux-XXXXXX";
    if (!::mkdtemp(path.data()))
        throw Error(errno, fmt::format("cannot make directory {}: {}", path, errno_text(errno)));
    return path;
}

std::string temporary_directory(const char* fallback) {
    const char* parent = std::getenv("TMPDIR");
    return make_directory(parent ? parent : fallback);
}

std::string own_hostname() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

std::string wall_clock() {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    return fmt::format("{:.2f}", static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
}

// Folders of a search path, in order.
std::vector<std::string> module_path() {
    std::vector<std::string> folders;
    if (const char* search = std::getenv("FLUX_MODULE_PATH")) {
        std::string_view rest(search);
        while (!rest.empty()) {
            auto folder = rest.substr(0, rest.find(':'));
            if (!folder.empty()) folders.emplace_back(folder);
            rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        }
    }
    folders.push_back(paths::moduledir());
    return folders;
}

} // namespace

void Broker::boot() {
    read_command_line();
    choose_bootstrap();
    identify();
    find_enclosing_instance();
    set_defaults();
    log_.configure(attributes_);
    tell_of_ignored_keys();
    run_directory();
    state_directory();
    make_overlay();
    meet_peers();
    make_module_host();
    open_services();
    watch_signals();
}

// Attributes and configuration ----------------------------------------------------------------------------------

void Broker::read_command_line() {
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
    check_tbon_table(config_["tbon"]);
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

void Broker::choose_bootstrap() {
    set_default("hostname", own_hostname());
    Bootstrap::Request request;
    request.method = attributes_.get("broker.boot-method");
    request.config = config_;
    request.hostname = *attributes_.get("hostname");
    bootstrap_ = Bootstrap::choose(request);
}

void Broker::identify() {
    uuid_ = make_uuid();
    rank_ = bootstrap_->rank();
    size_ = bootstrap_->size();
    router_.set_rank(rank_);
    log_.set_rank(rank_);
    attributes_.set("rank", std::to_string(rank_));
    attributes_.set("size", std::to_string(size_));
    attributes_.set("version", version);
    attributes_.set("vendor.version", vendor_version);
    attributes_.set("security.owner", std::to_string(::getuid()));
    attributes_.set("broker.pid", std::to_string(::getpid()));
    attributes_.set("broker.uuid", uuid_);
    attributes_.set("broker.starttime", wall_clock());
    attributes_.set("broker.boot-method", bootstrap_->method());
    if (auto mapping = bootstrap_->mapping()) attributes_.set("broker.mapping", *mapping);
}

// A broker that runs as a task of a job learns from the job's shell where it is (broker.md 6.8). What tasks find in
// their environment is about that job and nothing that our own processes should see.
void Broker::find_enclosing_instance() {
    auto level = bootstrap_->launcher_value("flux.instance-level");
    attributes_.set("instance-level", level.value_or("0"));
    const char* path = std::getenv("FLUX_JOB_ID_PATH");
    attributes_.set("jobid-path", level && path ? path : "/");
    if (level) {
        attributes_.set("jobid", bootstrap_->job());
        if (const char* uri = std::getenv("FLUX_URI")) attributes_.set("parent-uri", uri);
        if (const char* name = std::getenv("FLUX_KVS_NAMESPACE")) attributes_.set("parent-kvs-namespace", name);
    }
    for (auto name : {"FLUX_URI", "FLUX_PROXY_REMOTE", "FLUX_KVS_NAMESPACE", "FLUX_JOB_ID_PATH"}) ::unsetenv(name);
}

void Broker::set_default(const char* name, std::string value) {
    if (!attributes_.is_set(name)) attributes_.set(name, std::move(value));
}

void Broker::set_defaults() {
    set_default("broker.quorum", std::to_string(size_));
    for (auto [name, value] : {std::pair{"broker.rc1_path", "flux modprobe rc1"},
                               {"broker.rc3_path", "flux modprobe rc3"},
                               {"content.hash", "sha1"},
                               {"content.backing-module", "content-sqlite"},
                               {"log-ring-size", "1024"},
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
                               {"broker.cleanup-timeout", "none"},
                               {"broker.unload-builtins-timeout", "1m"},
                               {"broker.sd-stop-timeout", "none"}})
        set_default(name, value);
    for (auto name : {"shell_initrc", "shell_pluginpath"})
        set_default(("conf." + std::string(name)).c_str(), *paths::builtin(name));
    // The command line comes before [tbon] of the configuration.
    for (auto [name, value] : {std::pair{"tbon.prefertcp", "0"},
                               {"tbon.hold-timeout", configured() ? "none" : "0"},
                               {"tbon.hold-limit", "64M"},
                               {"tbon.torpid_min", "5s"},
                               {"tbon.torpid_max", "30s"},
                               {"tbon.tcp_user_timeout", "20s"},
                               {"tbon.connect_timeout", "30s"},
                               {"tbon.zmqdebug", "0"},
                               {"tbon.zmq_io_threads", "1"},
                               {"tbon.child_rcvhwm", "0"}}) {
        auto configured = config_.find(name);
        if (auto number = configured.try_as<std::int64_t>()) set_default(name, std::to_string(*number));
        set_default(name, configured.try_as<std::string>().value_or(value));
    }
}

// A configuration made for links over ZeroMQ works here too.
void Broker::tell_of_ignored_keys() {
    std::string ignored;
    for (auto name : {"tbon.zmqdebug", "tbon.zmq_io_threads", "tbon.child_rcvhwm"}) {
        if (config_.find(name)) ignored += (ignored.empty() ? "" : ", ") + std::string(name);
    }
    if (!ignored.empty()) log(LogLevel::notice, fmt::format("config: {}: no effect, links do not use ZeroMQ", ignored));
}

// Directories ---------------------------------------------------------------------------------------------------

void Broker::run_directory() {
    if (auto given = attributes_.get("rundir")) {
        rundir_ = *given;
        struct stat info {};
        if (::stat(rundir_.c_str(), &info) == 0) {
            if (!S_ISDIR(info.st_mode)) throw Error(ENOTDIR, fmt::format("rundir {} is not a directory", rundir_));
            if (info.st_mode & S_ISVTX) {
                rundir_ = make_directory(rundir_);
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
    set_default("rundir-cleanup", rundir_made_ ? "1" : "0");
    set_default("local-uri", fmt::format("local://{}/local-{}", rundir_, rank_));
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
    set_default("statedir-cleanup", statedir_made_ ? "1" : "0");
}

void Broker::remove_directories() {
    std::error_code ignored;
    if (!rundir_.empty() && attributes_.get_or("rundir-cleanup", "0") == "1") fs::remove_all(rundir_, ignored);
    if (!statedir_.empty() && attributes_.get_or("statedir-cleanup", "0") == "1") fs::remove_all(statedir_, ignored);
}

// The tree ------------------------------------------------------------------------------------------------------

Topology Broker::make_topology() {
    std::string scheme = bootstrap_->method() == "config" ? "custom" : "kary:32";
    if (auto fanout = attributes_.get("tbon.fanout")) scheme = "kary:" + *fanout;
    if (auto configured = config_.find("tbon.topo").try_as<std::string>()) scheme = *configured;
    if (auto given = attributes_.get("tbon.topo")) scheme = *given;
    attributes_.set("tbon.topo", scheme);
    auto topology = scheme == "custom" ? Topology(bootstrap_->parents()) : Topology(scheme, size_);
    attributes_.set("tbon.level", std::to_string(topology.level(rank_)));
    attributes_.set("tbon.maxlevel", std::to_string(topology.max_level()));
    attributes_.set("tbon.descendants", std::to_string(topology.descendants(rank_)));
    Idset critical{0};
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        if (!topology.children(rank).empty()) critical.set(rank);
    }
    set_default("broker.critical-ranks", critical.encode());
    return topology;
}

void Broker::make_overlay() {
    auto topology = make_topology();
    handle_ = std::make_unique<Handle>(loop_, std::make_unique<BuiltinTransport>(loop_, router_, uuid_));
    Overlay::Environment environment;
    environment.rank = rank_;
    environment.hostname = *attributes_.get("hostname");
    environment.uuid = uuid_;
    environment.hello_answer = [this] {
        return Json::object("hostlist", attributes_.get_or("hostlist", ""), "config", config_.copy(), "critical-ranks",
                            attributes_.get_or("broker.critical-ranks", ""));
    };
    environment.accepting = [this] { return machine_.state() < State::cleanup; };
    environment.host_of = [this](std::uint32_t rank) { return hosts_[rank].try_as<std::string>().value_or("unknown"); };
    environment.log = [this](LogLevel level, const std::string& text) { log(level, text); };
    environment.on_ranks_gone = [this](const Idset& ranks) { groups_->remove(ranks); };
    follow_parent(environment);
    environment.on_disconnect = [this](const Request& request) { tracer_->disconnect(request); };
    overlay_ = std::make_unique<Overlay>(loop_, router_, *handle_, scope_, std::move(topology), std::move(environment));
    groups_ = std::make_unique<Groups>(loop_, *handle_, rank_);
}

// Which address this host tells to others, first found.
std::string Broker::interface_hint() {
    auto hint = attributes_.get("tbon.interface-hint");
    if (!hint) hint = bootstrap_->launcher_value("flux.tbon-interface-hint");
    if (!hint) hint = config_.find("tbon.interface-hint").try_as<std::string>();
    if (const char* name = std::getenv("FLUX_IPADDR_INTERFACE"); name && !hint) hint = name;
    if (!hint) hint = std::getenv("FLUX_IPADDR_HOSTNAME") ? "hostname" : "default-route";
    attributes_.set("tbon.interface-hint", *hint);
    return *hint;
}

// Listen, tell the others where and by which key they know us, and learn of the parent and of all hosts.
void Broker::meet_peers() {
    const auto& topology = overlay_->topology();
    Bootstrap::Listening listening;
    listening.rundir = rundir_;
    listening.interface_hint = interface_hint();
    listening.prefer_tcp = attributes_.get_or("tbon.prefertcp", "0") != "0";
    BusinessCard card;
    card.host = *attributes_.get("hostname");
    std::optional<LinkKeys> keys;
    if (bootstrap_->needs_keys(topology, listening)) {
        keys = bootstrap_->make_keys();
        card.public_key = keys->public_key().to_string();
        overlay_->set_keys(std::make_shared<LinkKeys>(*keys));
    }
    // The socket must be there before anybody learns of it. No children are accepted while one looks for damage.
    std::vector<std::string> uris;
    if (!recovering()) uris = bootstrap_->bind_uris(topology, listening);
    for (const auto& uri : uris) card.uris.push_back(overlay_->listen(Address::parse(uri)).to_string());
    if (auto endpoint = bootstrap_->endpoint(card); !endpoint.empty()) attributes_.set("tbon.endpoint", endpoint);
    auto peers = bootstrap_->meet(topology, card);
    if (keys) {
        for (const auto& [rank, child] : peers.children) {
            if (!child.public_key.empty()) keys->trust(PublicKey::parse(child.public_key));
        }
        overlay_->set_keys(std::make_shared<LinkKeys>(*keys));
    }
    if (peers.parent) {
        const auto& uri = peers.parent->uris.front();
        parent_address_.host = peers.parent->host;
        parent_address_.address = Address::parse(uri);
        if (!peers.parent->public_key.empty()) parent_address_.key = PublicKey::parse(peers.parent->public_key);
        attributes_.set("tbon.parent-endpoint", uri);
    }
    if (peers.hosts.empty()) return; // it learns of the hosts when it joins
    Hostlist hosts;
    for (const auto& host : peers.hosts) hosts.push_back(host);
    set_default("hostlist", hosts.encode());
    hosts_ = Json(peers.hosts);
}

// Modules, services, signals ------------------------------------------------------------------------------------

void Broker::make_module_host() {
    ModuleHost::Environment environment;
    environment.copies = rundir_ + "/so";
    environment.exec_program = paths::libexecdir() + "/flux-module-exec";
    environment.search = module_path();
    if (auto limit = attributes_.get("vendor.module-limit")) {
        auto time =
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(parse_duration(*limit)));
        environment.start_limit = time;
        environment.stop_limit = time;
    }
    environment.attributes = [this] { return attributes_.immutable_json(); };
    environment.config = [this] { return config_.copy(); };
    environment.log = [this](LogLevel level, const std::string& text) { log(level, text); };
    environment.panic = [this](const std::string& name, const std::string& why) { panic(name, why); };
    environment.dependants = [this](const std::string& name) { return modprobe_->dependants(name, *host_); };
    host_ = std::make_unique<ModuleHost>(loop_, router_, scope_, std::move(environment));
    modprobe_ = std::make_unique<Modprobe>();
}

void Broker::open_services() {
    Connector::Environment environment;
    environment.log = [this](LogLevel level, const std::string& text) { log(level, text); };
    environment.online = [this] { return machine_.state() >= State::init; };
    connector_ = std::make_unique<Connector>(loop_, router_, std::move(environment));
    connector_->configure(config_);
    serve();
    log_.serve(*handle_);
    machine_.serve(*handle_);
    connector_->serve(*handle_);
    auto local_uri = attributes_.get_or("local-uri", "");
    if (!local_uri.starts_with("local://")) throw Error(EINVAL, "local-uri must begin with local://");
    connector_->listen(local_uri.substr(8));
}

void Broker::watch_signals() {
    ::signal(SIGPIPE, SIG_IGN);
    for (int signum : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2})
        signals_.push_back(
            std::make_unique<SignalWatcher>(loop_, signum, [this](int received) { on_signal(received); }));
}

} // namespace flux::broker
