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
        if (job_.size > 1)
            serve(shell_protocol::tasks_complete, [this](const Request& request) { serve_tasks_complete(request); });
    }
    if (standalone()) co_return;
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

Call Core::call(unsigned rank, std::string_view method, Json payload, CallOptions options) {
    if (rank >= job_.size) throw Error(EINVAL, "there is no shell " + std::to_string(rank));
    if (!standalone()) options.rank(job_.ranks[rank].broker_rank);
    return handle_->call(job_.service + '.' + std::string(method), std::move(payload), options);
}

void Core::notify(unsigned rank, std::string_view method, Json payload) {
    if (rank >= job_.size) throw Error(EINVAL, "there is no shell " + std::to_string(rank));
    CallOptions options;
    if (!standalone()) options.rank(job_.ranks[rank].broker_rank);
    handle_->notify(job_.service + '.' + std::string(method), std::move(payload), options);
}

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

void Core::serve_tasks_complete(const Request& request) {
    shell_tasks_complete(request.json().get<unsigned>("shell_rank"));
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
    handle_->call("job-manager.raise", std::move(payload)).then([this](const Message& reply) {
        if (reply.errnum() == 0) return;
        log_to_stderr(LogRecord{Level::error, "shell", "cannot raise an exception: " + reply.error_text(), -1});
    });
}

void Core::follow_resources() {
    if (standalone() || std::exchange(following_, true)) return;
    work_.spawn("resources", &Core::watch_resources, this);
}

// The first answer is what the shell knows already.
Task<> Core::watch_resources(Core* self) {
    auto payload = Json::object("id", self->job_.id, "key", "R", "flags", 0);
    auto stream = self->handle_->stream("job-info.update-watch", std::move(payload));
    while (auto message = co_await stream.next()) {
        auto resources = ResourceSet::decode(message->json().get<JsonView>("R"));
        if (resources.expiration == self->job_.expiration) continue;
        self->job_.expiration = resources.expiration;
        self->each_plugin("resource_update", [](Plugin& plugin) { plugin.resource_update(); });
    }
}

} // namespace flux::shell
