#include "backoff.hpp"
#include "core.hpp"

#include <flux/resource_set.hpp>
#include <flux/shell_protocol.hpp>

#include <cerrno>
#include <unistd.h>

namespace flux::shell {

Task<> Core::offer_services() {
    if (leader()) {
        serve(shell_protocol::exception, [this](const Request& request) { serve_exception(request); });
        serve(shell_protocol::critical_ranks, [this](const Request& request) { serve_critical_ranks(request); });
        receive(shell_protocol::tasks_complete, [this](unsigned from, JsonView) { shell_tasks_complete(from); });
    }
    proctable_.offer();
    if (job_.size > 1) serve(shell_protocol::link, [this](Request request) { links_.receive(std::move(request)); });
    if (standalone()) co_return;
    offer_rexec();
    co_await handle_->call("service.add", Json::object("service", job_.service));
}

bool Core::may_call(const Request& request) const noexcept { return request.credentials().may_act_for(::getuid()); }

void Core::serve(std::string_view method, Handle::Handler handler) {
    auto topic = job_.service + '.' + std::string(method);
    auto checked = [this, handler = std::move(handler)](Request request) {
        if (!may_call(request)) throw Error(EPERM);
        handler(std::move(request));
    };
    handle_->serve(Method(topic, MethodClass::once, role_user), checked);
    served_.push_back(Served{std::move(topic), std::move(checked)});
}

void Core::send(unsigned rank, std::string_view kind, Json payload) {
    if (rank >= job_.size) throw Error(EINVAL, "there is no shell " + std::to_string(rank));
    links_.send(rank, kind, std::move(payload));
}

void Core::receive(std::string_view kind, Receiver receiver) { links_.on_message(kind, std::move(receiver)); }

void Core::serve_exception(const Request& request) {
    auto json = request.json();
    auto type = json.get<std::string>("type");
    auto severity = json.get<int>("severity");
    auto shell_rank = json.get<unsigned>("shell_rank");
    auto message = json.get_or<std::string>("message", "");
    if (shell_rank >= job_.size) throw Error(EINVAL, "there is no shell " + std::to_string(shell_rank));
    if (!message.empty()) log(Level::warning, "exception", message);
    if (type == "lost-shell") {
        each_plugin("shell_lost", [&](Plugin& plugin) { plugin.shell_lost(shell_rank, severity); });
        shell_tasks_complete(shell_rank);
    }
    request.respond();
}

void Core::serve_critical_ranks(const Request& request) {
    auto ranks = request.json().get<Idset>("ranks");
    each_plugin("critical_ranks", [&](Plugin& plugin) { plugin.critical_ranks(ranks); });
    request.respond();
}

void Core::shell_tasks_complete(unsigned shell_rank) {
    if (!incomplete_shells_.test(shell_rank)) return;
    incomplete_shells_.clear(shell_rank);
    if (incomplete_shells_.empty()) each_plugin("tasks_complete", [](Plugin& plugin) { plugin.tasks_complete(); });
}

void Core::raise(std::string_view type, int severity, std::string_view note, std::optional<int> wait_status) {
    if (std::exchange(raised_, true) || standalone()) return;
    auto payload = Json::object("id", job_.id, "type", type, "severity", severity, "note", note);
    if (wait_status) payload.set("wait_status", *wait_status);
    raising_ = true;
    root_.spawn("raise", &Core::send_exception, this, Payload::from_json(std::move(payload)));
}

void Core::follow_resources() {
    if (standalone() || std::exchange(following_, true)) return;
    work_.spawn("resources", &Core::watch_resources, this);
}

// The stream is asked for again as long as the job runs: its answers begin with what is true now.
Task<> Core::watch_resources(Core* self) {
    for (Backoff backoff;;) {
        while (!self->online_) co_await self->changed_.wait();
        try {
            co_await self->take_resources();
            co_return;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            self->log(Level::debug, "shell", std::string("watch of R: ") + error.what());
        }
        co_await backoff.pause();
    }
}

Task<> Core::take_resources() {
    auto payload = Json::object("id", job_.id, "key", "R", "flags", 0);
    auto stream = handle_->stream("job-info.update-watch", std::move(payload));
    while (auto message = co_await stream.next()) {
        auto resources = ResourceSet::decode(message->json().get<JsonView>("R"));
        if (resources.expiration == job_.expiration) continue;
        job_.expiration = resources.expiration;
        each_plugin("resource_update", [](Plugin& plugin) { plugin.resource_update(); });
    }
}

} // namespace flux::shell
