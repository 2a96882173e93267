// modules/rexec — the subprocess server of every rank. Its processes are children of flux-launcher and survive it; what
// it knows of them is with the launcher. Life, state and reload: README.md.
#include <flux/module.hpp>
#include <flux/parse_integer.hpp>
#include <flux/paths.hpp>
#include <flux/rexec_server.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux {
namespace {

/// How long a launcher without rexec keeps what it has, in an instance whose brokers are not started again with the
/// same run directory. Restarting one by hand is as quick.
constexpr unsigned orphan_seconds = 60;

} // namespace

class Rexec final : public Module {
public:
    using Module::Module;

    Task<> start() override {
        guests_ = config().find("access.allow-guest-user").try_as<bool>().value_or(false);
        RexecServerOptions options;
        options.rank = rank();
        options.local_uri = attr("local-uri");
        options.authorize = [this](const Request& request) { authorize(request); };
        options.log = [this](LogLevel level, const std::string& text) { log(level, text); };
        server_ = std::make_unique<RexecServer>(handle(), std::move(options));
        auto rundir = co_await handle().get_attr("rundir");
        if (!rundir) throw Error(ENOENT, "attribute 'rundir' is not set");
        auto make_host = [this, &rundir](ProcessHostEvents events) {
            auto host = std::make_unique<LauncherHost>(loop(), launcher_options(*rundir), std::move(events));
            launcher_ = host.get();
            return host;
        };
        server_->use_host(make_host);
        co_await adopt();
        server_->serve();
    }

    void resumed() override { server_->go_on(); }
    void config_changed(JsonView config) override {
        guests_ = config.find("access.allow-guest-user").try_as<bool>().value_or(false);
    }
    std::optional<Json> park(const Request& request) override { return server_->park(request); }
    void resume(Request request, JsonView cursor) override { server_->resume(std::move(request), cursor); }

    Task<> stop() override {
        if (server_) server_->hand_over();
        server_.reset();
        co_return;
    }

    Json stats() override {
        auto json = Module::stats();
        json.set("processes", server_->process_count());
        json.set("launcher", launcher_->connected());
        return json;
    }

private:
    LauncherOptions launcher_options(const std::string& rundir) const {
        LauncherOptions options;
        options.program = paths::libexecdir() + "/flux-launcher";
        options.socket_path = fmt::format("{}/launcher-{}", rundir, rank());
        if (auto text = arg("orphan-timeout")) {
            options.client_timeout = parse_integer<unsigned>(*text);
            if (!options.client_timeout && *text != "none")
                throw Error(EINVAL, "orphan-timeout: '" + *text + "' is neither seconds nor none");
        } else if (attr("broker.boot-method") != "config") {
            options.client_timeout = orphan_seconds;
        }
        return options;
    }

    Task<> adopt() {
        Condition listed;
        std::optional<std::vector<HostedProcess>> found;
        auto on_listed = [&](std::vector<HostedProcess> processes) {
            found = std::move(processes);
            listed.notify_all();
        };
        launcher_->connect(on_listed);
        while (!found) co_await listed.wait();
        server_->adopt(std::move(*found));
    }

    // Where guests run jobs a compute node must not be able to take over the leader.
    void authorize(const Request& request) const {
        if (guests_ && rank() == 0 && !(request.credentials().rolemask & role_local))
            throw Error(EPERM, "Remote rexec requests are not allowed on rank 0");
    }

    std::unique_ptr<RexecServer> server_;
    LauncherHost* launcher_ = nullptr; ///< owned by the server
    bool guests_ = false;
};

} // namespace flux

FLUX_MODULE(flux::Rexec, "rexec")
