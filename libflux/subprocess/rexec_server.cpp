#include "libflux/subprocess/rexec_process.hpp"

#include <flux/rexec_server.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <fcntl.h>

namespace flux {

using namespace rexec_protocol;

struct RexecServer::State : std::enable_shared_from_this<State> {
    /// A host and what it runs for us.
    struct Slot {
        std::unique_ptr<ProcessHost> host;
        std::map<std::uint64_t, std::unique_ptr<RexecProcess>> processes;
        std::deque<Request> kills; ///< not answered yet, in order; none: asked by ourselves
    };

    State(Handle& handle, RexecServerOptions options) : handle(handle), options(std::move(options)) {
        environment.rank = std::to_string(this->options.rank);
        environment.local_uri = this->options.local_uri;
        environment.log = this->options.log;
        environment.retire = [this](RexecProcess& process) { retire(process); };
        own.host = std::make_unique<LocalProcessHost>(handle.loop(), events_of(own));
    }

    Slot& main() noexcept { return hosted.host ? hosted : own; }

    template <class F> void for_each(F&& visit) {
        for (auto* slot : {&hosted, &own}) {
            for (auto& [id, process] : slot->processes) {
                if (process->state() != RexecProcess::State::retired) visit(*slot, *process);
            }
        }
    }

    // Events of hosts -----------------------------------------------------------------------------------------------

    ProcessHostEvents events_of(Slot& slot) {
        auto with = [this, &slot](std::uint64_t id, auto act) {
            auto found = slot.processes.find(id);
            if (!parked && found != slot.processes.end()) act(*found->second);
        };
        ProcessHostEvents events;
        events.on_started = [this, &slot, with](HostedProcess process) {
            auto shared = std::make_shared<HostedProcess>(std::move(process));
            with(shared->id,
                 [&](RexecProcess& started) { guard(slot, started, [&] { started.on_started(std::move(*shared)); }); });
        };
        events.on_failed = [with](std::uint64_t id, int errnum) {
            with(id, [&](RexecProcess& process) { process.on_failed(errnum); });
        };
        events.on_stopped = [with](std::uint64_t id, int) {
            with(id, [&](RexecProcess& process) { process.on_stopped(); });
        };
        events.on_exited = [with](std::uint64_t id, int status) {
            with(id, [&](RexecProcess& process) { process.on_exited(status); });
        };
        events.on_killed = [this, &slot](std::uint64_t, int errnum) { on_killed(slot, errnum); };
        events.on_lost = [this, &slot](const Error& error) { on_lost(slot, error); };
        return events;
    }

    void on_killed(Slot& slot, int errnum) {
        if (slot.kills.empty()) return;
        auto request = std::move(slot.kills.front());
        slot.kills.pop_front();
        if (!request) return;
        if (errnum == 0)
            request.respond();
        else
            request.fail(errnum);
    }

    void on_lost(Slot& slot, const Error& error) {
        if (parked) return;
        options.log(LogLevel::err, error.what());
        for (auto& request : std::exchange(slot.kills, {})) {
            if (request) request.fail(error);
        }
        for (auto& [id, process] : slot.processes) {
            if (process->state() != RexecProcess::State::retired) process->on_lost(error);
        }
    }

    /// What breaks the rules ends the process and the exec that started it.
    template <class F> void guard(Slot& slot, RexecProcess& process, F&& act) {
        try {
            act();
        } catch (const Error& error) {
            process.fail(error.while_doing("internal fatal error"));
            kill(slot, process, SIGKILL);
        }
    }

    // A process may retire in the midst of its own doing.
    void retire(RexecProcess& process) {
        auto* slot = &process == own_of(process.id()) ? &own : &hosted;
        handle.loop().post([weak = weak_from_this(), slot, id = process.id()] {
            auto self = weak.lock();
            if (!self) return;
            slot->processes.erase(id);
            self->check_empty();
        });
    }

    const RexecProcess* own_of(std::uint64_t id) const {
        auto found = own.processes.find(id);
        return found == own.processes.end() ? nullptr : found->second.get();
    }

    void check_empty() {
        if (!hosted.processes.empty() || !own.processes.empty()) return;
        for (auto& callback : std::exchange(empty_callbacks, {})) callback();
    }

    // Requests ------------------------------------------------------------------------------------------------------

    void serve(const Method& method, void (State::*function)(const Request&)) {
        auto full = topic(method, options.service);
        handle.serve(Method(full, method.method_class, options.roles), [this, function](Request request) {
            if (options.authorize) options.authorize(request);
            (this->*function)(request);
        });
    }

    static JsonView unpack(const Request& request) {
        try {
            return request.json();
        } catch (const Error& error) {
            throw error.while_doing("failed to unpack request");
        }
    }

    template <class T> static T unpack(const Request& request, const char* key) {
        try {
            return unpack(request).get<T>(key);
        } catch (const Error& error) {
            throw error.while_doing("failed to unpack request");
        }
    }

    static void check_exec_flags(const Request& request, int flags, int local_flags, const RemoteCommand& command) {
        if (local_flags & ~(stdio_fallthrough | no_process_group | fork_exec))
            throw Error(EINVAL, fmt::format("unknown local flags {:#x}", local_flags));
        if (request.streaming()) {
            if (flags & waitable) throw Error(EINVAL, "waitable flag only supported in background mode");
            return;
        }
        if (flags & write_credit) throw Error(EINVAL, "write-credit flag is not allowed in background mode");
        if (local_flags & stdio_fallthrough)
            throw Error(EINVAL, "stdio-fallthrough flag is not allowed in background mode");
        if (!command.channels.empty()) throw Error(EINVAL, "auxiliary channels are not allowed in background mode");
    }

    void exec(const Request& request) {
        if (refusing) throw Error(ENOSYS, "subprocess server is shutting down");
        auto command = RemoteCommand::decode(unpack<JsonView>(request, "cmd"));
        int flags = unpack<int>(request, "flags");
        int local_flags = request.json().get_or("local_flags", 0);
        check_exec_flags(request, flags, local_flags, command);
        if (!command.label.empty() && find_label(command.label).second)
            throw Error(EINVAL, "command label is not unique");
        for (const char* stream : {"stdin", "stdout", "stderr"}) command.buffer_size(stream);
        for (const auto& channel : command.channels) command.buffer_size(channel);

        bool background = !request.streaming();
        bool fallthrough = local_flags & stdio_fallthrough;
        std::vector<FileDescriptor> stdio;
        for (int fd = 0; fallthrough && fd < 3; ++fd) stdio.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
        auto process =
            std::make_unique<RexecProcess>(handle.loop(), environment, std::move(command), flags, background);
        process->set_part(background ? RexecProcess::Part::starter : RexecProcess::Part::client, request);
        auto start = process->start_request(!(local_flags & no_process_group), std::move(stdio));
        auto& slot = fallthrough ? own : main();
        auto id = slot.host->start(std::move(start));
        process->set_host(*slot.host, id);
        slot.processes.emplace(id, std::move(process));
    }

    void write(const Request& request) {
        auto matchtag = request.json().get<std::uint32_t>("matchtag");
        auto io = IoData::decode(request.json()["io"]);
        for_each([&](Slot& slot, RexecProcess& process) {
            if (process.is_client(matchtag, request)) guard(slot, process, [&] { process.write(io); });
        });
    }

    using Found = std::pair<Slot*, RexecProcess*>;

    Found find_label(std::string_view label) {
        Found found{};
        for_each([&](Slot& slot, RexecProcess& process) {
            if (process.label() == label) found = {&slot, &process};
        });
        return found;
    }

    /// The process that a request names; of two with one pid that which runs.
    Found find(const Request& request, int errnum) {
        int pid = unpack<int>(request, "pid");
        if (auto label = request.json().get_optional<std::string>("label")) {
            if (auto found = find_label(*label); found.second) return found;
            throw Error(errnum, fmt::format("label {} does not belong to any subprocess", *label));
        }
        Found found{};
        for_each([&](Slot& slot, RexecProcess& process) {
            if (process.pid() != pid || process.state() == RexecProcess::State::starting) return;
            if (!found.second || process.state() == RexecProcess::State::running) found = {&slot, &process};
        });
        if (!found.second) throw Error(errnum, fmt::format("pid {} does not belong to any subprocess", pid));
        return found;
    }

    void kill(const Request& request) {
        auto [slot, process] = find(request, ESRCH);
        int signum = unpack<int>(request, "signum");
        slot->kills.push_back(request);
        slot->host->kill(process->id(), signum);
    }

    void kill(Slot& slot, const RexecProcess& process, int signum) {
        slot.kills.emplace_back();
        slot.host->kill(process.id(), signum);
    }

    void list(const Request& request) {
        auto processes = Json::array();
        for_each([&](Slot&, RexecProcess& process) {
            if (process.state() == RexecProcess::State::starting) return;
            const char* state = process.state() == RexecProcess::State::running ? "R" : "Z";
            processes.append(
                Json::object("pid", process.pid(), "cmd", process.name(), "label", process.label(), "state", state));
        });
        request.respond(Json::object("rank", options.rank, "procs", std::move(processes)));
    }

    void wait(const Request& request) { find(request, ESRCH).second->wait(request); }

    void forget(const Request& request) {
        find(request, ESRCH).second->forget();
        request.respond();
    }

    void attach(const Request& request) {
        if (!request.streaming()) throw Error(EPROTO, "attach request is missing STREAMING flag");
        int flags = unpack<int>(request, "flags");
        find(request, ENOENT).second->attach(request, flags);
    }

    void cancel(const Request& request) {
        auto matchtag = request.json().get<std::uint32_t>("matchtag");
        drop_if([&](const Request& open) { return open.matchtag() == matchtag && open.same_sender(request); });
    }

    void disconnect(const Request& request) {
        drop_if([&](const Request& open) { return open.same_sender(request); });
    }

    template <class F> void drop_if(F&& wanted) {
        for_each([&](Slot& slot, RexecProcess& process) {
            if (process.drop_if(wanted) && process.abandoned() && process.state() != RexecProcess::State::retired)
                kill(slot, process, SIGKILL);
        });
    }

    // Reload --------------------------------------------------------------------------------------------------------

    std::optional<Json> park(const Request& request) {
        std::optional<Json> cursor;
        for (auto& [id, process] : hosted.processes) {
            auto part = process->part_of(request);
            if (part == RexecProcess::Part::none) continue;
            stop_reading();
            parked_processes.insert(id);
            cursor = Json::object("process", id, "part", static_cast<int>(part));
        }
        return cursor;
    }

    void stop_reading() {
        if (std::exchange(parked, true)) return;
        for_each([](Slot&, RexecProcess& process) { process.pause(); });
    }

    void hand_over() {
        stop_reading();
        for_each([&](Slot& slot, RexecProcess& process) {
            bool goes_on = &slot == &hosted && (process.background() || parked_processes.contains(process.id()));
            if (goes_on) return slot.host->set_note(process.id(), process.note());
            kill(slot, process, SIGKILL);
            slot.host->forget(process.id());
        });
    }

    Handle& handle;
    RexecServerOptions options;
    RexecProcess::Environment environment;
    Slot hosted; ///< by the host that was given to us
    Slot own;    ///< children
    bool refusing = false;
    bool parked = false;
    std::set<std::uint64_t> parked_processes;
    std::vector<std::function<void()>> empty_callbacks;
};

RexecServer::RexecServer(Handle& handle, RexecServerOptions options)
    : state_(std::make_shared<State>(handle, std::move(options))) {}

RexecServer::~RexecServer() {
    for (const auto* method : {&exec, &write, &kill, &list, &wait, &forget, &attach, &cancel, &disconnect})
        state_->handle.unserve(topic(*method, state_->options.service));
}

void RexecServer::use_host(const std::function<std::unique_ptr<ProcessHost>(ProcessHostEvents)>& make) {
    state_->hosted.host = make(state_->events_of(state_->hosted));
}

void RexecServer::serve() {
    state_->serve(exec, &State::exec);
    state_->serve(write, &State::write);
    state_->serve(kill, &State::kill);
    state_->serve(list, &State::list);
    state_->serve(wait, &State::wait);
    state_->serve(forget, &State::forget);
    state_->serve(attach, &State::attach);
    state_->serve(cancel, &State::cancel);
    state_->serve(disconnect, &State::disconnect);
}

void RexecServer::adopt(std::vector<HostedProcess> processes) {
    auto& slot = state_->hosted;
    for (auto& process : processes) {
        auto id = process.id;
        auto pid = process.pid;
        try {
            slot.processes[id] =
                RexecProcess::restore(state_->handle.loop(), state_->environment, *slot.host, std::move(process));
        } catch (const Error& error) {
            // It was not started by a server that we understand: nobody can ask for it.
            slot.processes.erase(id);
            state_->options.log(LogLevel::err,
                                fmt::format("cannot go on with process {}, ignoring: {}", pid, error.what()));
        }
    }
}

std::optional<Json> RexecServer::park(const Request& request) { return state_->park(request); }
void RexecServer::hand_over() { state_->hand_over(); }

void RexecServer::resume(Request request, JsonView cursor) {
    auto found = state_->hosted.processes.find(cursor.get<std::uint64_t>("process"));
    if (found == state_->hosted.processes.end()) throw Error(ECONNRESET, "the process is gone");
    found->second->set_part(static_cast<RexecProcess::Part>(cursor.get<int>("part")), std::move(request));
}

void RexecServer::go_on() {
    state_->for_each([this](State::Slot& slot, RexecProcess& process) {
        if (process.abandoned() && process.state() == RexecProcess::State::running)
            state_->kill(slot, process, SIGKILL);
        process.go_on();
    });
}

void RexecServer::refuse() noexcept { state_->refusing = true; }

void RexecServer::signal_all(int signum) {
    state_->for_each([&](State::Slot& slot, RexecProcess& process) {
        if (process.state() != RexecProcess::State::ended) state_->kill(slot, process, signum);
    });
}

std::size_t RexecServer::process_count() const noexcept {
    return state_->hosted.processes.size() + state_->own.processes.size();
}

void RexecServer::when_empty(std::function<void()> callback) {
    state_->empty_callbacks.push_back(std::move(callback));
    state_->check_empty();
}

} // namespace flux
