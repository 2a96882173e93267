// kill — signals the tasks on event `shell-ID.kill {signum}`.
#include <flux/shell.hpp>
#include <flux/shell_protocol.hpp>

namespace flux::shell {
namespace {

class Kill final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        if (!shell().standalone()) co_await subscribe();
    }
    Task<> subscribe() {
        co_await shell().handle().subscribe(shell_protocol::kill_event(shell().info().id),
                                            [this](const Message& event) { receive(event); });
    }
    void reconnect() override { shell().scope().spawn("kill", &Kill::subscribe_again, this); }

private:
    static Task<> subscribe_again(Kill* self) { co_await self->subscribe(); }

    void receive(const Message& event) {
        try {
            shell().kill_tasks(event.json().get<int>("signum"));
        } catch (const Error& error) {
            shell().log(Level::warning, "kill", std::string("bad event: ") + error.what() + ", ignoring");
        }
    }
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Kill, "kill")
