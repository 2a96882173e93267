// pty — gives tasks terminals of their own. Their output goes where stdout goes, that of task 0 to a client that
// attaches (`flux job attach`) when the job asks for it.
#include "options.hpp"
#include "session.hpp"

namespace flux::shell {
namespace {

constexpr std::string_view service = "terminus.0"; ///< of task 0

class Pty final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        options_ = PtyOptions::read(shell().option("pty"), shell().info().ntasks);
        if (options_.added_first) shell().log(Level::warning, "pty", "added task 0 to pty.ranks: it is interactive");
        if (shell().standalone() && options_.interactive) {
            shell().log(Level::warning, "pty", "nobody can attach to a shell without an instance: not interactive");
            options_.interactive = false;
            options_.capture = true;
        }
        for (auto* task : shell().tasks()) {
            auto rank = task->rank();
            if (!options_.ranks.test(rank)) continue;
            const bool interactive = options_.interactive && rank == 0;
            sessions_.push_back(std::make_unique<PtySession>(shell(), *task, options_.captured(rank), interactive));
            if (interactive) offer(*sessions_.back());
        }
        co_return;
    }

    void task_fork(ShellTask& task) override {
        for (auto& session : sessions_)
            if (&session->task() == &task) session->started();
    }

    void task_exit(ShellTask& task) override {
        for (auto& session : sessions_)
            if (&session->task() == &task) session->ended();
    }

private:
    void offer(PtySession& session) {
        shell().serve(service, [&session](Request request) { session.receive(std::move(request)); });
        shell().serve("disconnect", [&session](const Request& request) { session.disconnect(request); });
        auto context = Json::object("pty", service);
        if (options_.capture) context.set("capture", 1);
        shell().add_event_context("shell.init", context);
    }

    PtyOptions options_;
    std::vector<std::unique_ptr<PtySession>> sessions_;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Pty, "pty")
