#include <flux/rexec.hpp>

#include <cerrno>

namespace flux::rexec {

using namespace rexec_protocol;

CallOptions Server::options() const noexcept {
    CallOptions options;
    if (rank_) options.rank(*rank_);
    return options;
}

Json ProcessName::encode() const {
    auto json = Json::object("pid", pid_);
    if (!label_.empty()) json.set("label", label_);
    return json;
}

Reply<pid_t> start(Handle& handle, const Server& server, const RemoteCommand& command, bool waitable) {
    auto payload = Json::object("cmd", command.encode(), "flags", waitable ? int(rexec_protocol::waitable) : 0);
    auto decode = [](Message answer) { return answer.json().get<pid_t>("pid"); };
    return {handle.call(server.topic(exec), std::move(payload), server.options()), decode};
}

Reply<WaitResult> wait(Handle& handle, const Server& server, const ProcessName& process, bool keep) {
    auto decode = [](Message answer) {
        WaitResult result;
        result.status = answer.json().get<int>("status");
        for (auto io : answer.json()["output"].elements()) result.output.push_back(IoData::decode(io));
        return result;
    };
    auto payload = process.encode();
    if (keep) payload.set("keep", true);
    return {handle.call(server.topic(rexec_protocol::wait), std::move(payload), server.options()), decode};
}

Call forget(Handle& handle, const Server& server, const ProcessName& process) {
    return handle.call(server.topic(rexec_protocol::forget), process.encode(), server.options());
}

Call kill(Handle& handle, const Server& server, const ProcessName& process, int signum) {
    auto payload = process.encode();
    payload.set("signum", signum);
    return handle.call(server.topic(rexec_protocol::kill), std::move(payload), server.options());
}

Reply<std::vector<ProcessInfo>> list(Handle& handle, const Server& server) {
    auto decode = [](Message answer) {
        std::vector<ProcessInfo> result;
        for (auto entry : answer.json()["procs"].elements()) {
            auto& info = result.emplace_back();
            info.rank = answer.json().get<std::uint32_t>("rank");
            info.pid = entry.get<pid_t>("pid");
            info.command = entry.get<std::string>("cmd");
            info.label = entry.get<std::string>("label");
            info.state = entry.get<std::string>("state");
        }
        return result;
    };
    return {handle.call(server.topic(rexec_protocol::list), server.options()), decode};
}

// Process -------------------------------------------------------------------------------------------------------

struct Process::State : std::enable_shared_from_this<State> {
    /// Input of one stream on its way.
    struct Input {
        std::string queue;
        std::size_t credit = 0;
        bool closing = false;
        bool closed = false;
    };

    State(Handle& handle, Server server, ProcessEvents events, int flags)
        : handle(handle), server(std::move(server)), events(std::move(events)), with_credit(flags & write_credit) {}

    void open(const Method& method, Json payload) {
        auto options = server.options();
        options.cancel_topic(server.topic(cancel));
        auto stream = handle.stream(server.topic(method), std::move(payload), std::move(options));
        matchtag = stream.matchtag();
        std::move(stream).then([weak = weak_from_this()](Message message) {
            if (auto self = weak.lock()) self->on_message(message);
        });
    }

    void on_message(const Message& message) {
        if (message.errnum() != 0) {
            ended = true;
            std::optional<Error> failure;
            if (message.errnum() != ENODATA) failure.emplace(message.errnum(), message.error_text());
            tell(events.on_end, failure);
            return;
        }
        auto json = message.json();
        auto type = json.get<std::string_view>("type");
        if (type == "started" || type == "attached") {
            pid = json.get<pid_t>("pid");
            if (early_signal) signal(std::exchange(early_signal, 0));
            tell(events.on_started, pid);
        } else if (type == "output") {
            auto io = IoData::decode(json["io"]);
            if (!io.data.empty()) tell(events.on_output, io.stream, io.data);
            if (io.eof) tell(events.on_output, io.stream, std::string_view());
        } else if (type == "add-credit") {
            for (auto [name, bytes] : json["channels"].members())
                add_credit(std::string(name), bytes.as<std::size_t>());
        } else if (type == "stopped") {
            tell(events.on_stopped);
        } else if (type == "finished") {
            tell(events.on_finished, json.get<int>("status"));
        }
    }

    template <class F, class... A> void tell(F& event, A&&... arguments) {
        if (event && !dropped) event(std::forward<A>(arguments)...);
    }

    void add_credit(const std::string& name, std::size_t bytes) {
        auto& input = inputs[name];
        input.credit += bytes;
        bool waited = !input.queue.empty();
        push(name, input);
        if (waited && input.queue.empty()) tell(events.on_written, name);
    }

    /// Send what the credit allows.
    void push(const std::string& name, Input& input) {
        if (ended || input.closed) return;
        auto size = with_credit ? std::min(input.credit, input.queue.size()) : input.queue.size();
        bool last = input.closing && size == input.queue.size();
        if (size == 0 && !last) return;
        auto io = IoData::encode(name, "0", std::string_view(input.queue).substr(0, size), last);
        handle.notify(server.topic(rexec_protocol::write), Json::object("matchtag", matchtag, "io", std::move(io)),
                      server.options());
        input.queue.erase(0, size);
        if (with_credit) input.credit -= size;
        input.closed = last;
    }

    void signal(int signum) {
        if (ended) return;
        if (pid < 0) {
            early_signal = signum;
            return;
        }
        rexec::kill(handle, server, pid, signum).then([](Message) {}); // it may have ended: that is told anyway
    }

    Handle& handle;
    Server server;
    ProcessEvents events;
    bool with_credit;
    std::uint32_t matchtag = 0;
    pid_t pid = -1;
    int early_signal = 0;
    bool ended = false;
    bool dropped = false;
    std::map<std::string, Input> inputs;
};

Process::Process(Handle& handle, const Server& server, const RemoteCommand& command, ProcessEvents events, int flags,
                 int local_flags)
    : state_(std::make_shared<State>(handle, server, std::move(events), flags)) {
    state_->open(exec, Json::object("cmd", command.encode(), "flags", flags, "local_flags", local_flags));
}

Process::Process(Handle& handle, const Server& server, const ProcessName& process, ProcessEvents events, int flags)
    : state_(std::make_shared<State>(handle, server, std::move(events), flags)) {
    auto payload = process.encode();
    payload.set("flags", flags);
    state_->open(attach, std::move(payload));
}

Process::~Process() {
    state_->dropped = true;
    if (state_->ended) return;
    state_->handle.notify(state_->server.topic(cancel), Json::object("matchtag", state_->matchtag),
                          state_->server.options());
}

pid_t Process::pid() const noexcept { return state_->pid; }

void Process::write(const std::string& stream, std::string_view data) {
    auto& input = state_->inputs[stream];
    if (input.closing) throw Error(EPIPE, "stream " + stream + " is closed");
    input.queue.append(data);
    state_->push(stream, input);
}

void Process::close(const std::string& stream) {
    auto& input = state_->inputs[stream];
    input.closing = true;
    state_->push(stream, input);
}

std::size_t Process::queued(const std::string& stream) const noexcept {
    auto found = state_->inputs.find(stream);
    return found == state_->inputs.end() ? 0 : found->second.queue.size();
}

void Process::kill(int signum) { state_->signal(signum); }

} // namespace flux::rexec
