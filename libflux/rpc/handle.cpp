#include "libflux/rpc/handle_state.hpp"

#include <flux/handle.hpp>
#include <flux/log_record.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

namespace flux {

using detail::CallState;

namespace {

// Of a stream under way above which its sender waits: some messages for the reader while the sender wakes up.
constexpr std::size_t flow_limit = 256 * 1024;
// Control message of a handle to itself: there is room in a stream.
constexpr std::uint32_t control_room = 0xE1;

constexpr std::string_view connection_lost = "connection to the broker was lost";

} // namespace

// CallState -----------------------------------------------------------------------------------------------------

namespace detail {

CallStateRef::CallStateRef(CallState* s) noexcept : state(s) {
    if (state) ++state->references;
}
CallStateRef::~CallStateRef() {
    if (state) state->release();
}

void CallState::release() noexcept {
    if (--references == 0) delete this;
}

// Leave the handle's table. The table holds one reference.
void CallState::retire() noexcept {
    deadline.reset();
    if (!handle) return;
    auto& calls = std::exchange(handle, nullptr)->calls;
    auto found = calls.find(matchtag);
    auto table_reference = std::move(found->second); // released at the end of this function
    calls.erase(found);
}

// The user let go of the call before its end.
void CallState::abandon() noexcept {
    if (!handle || callback) return;
    if (streaming) send_cancel();
    // A plain call stays in the table so that its matchtag is not used again before the response came.
    if (streaming)
        retire();
    else
        deadline.reset();
}

void CallState::send_cancel() noexcept {
    if (!handle) return;
    auto request = Message::request(cancel_topic);
    request.set(flag_noresponse);
    request.set(flag_upstream, sent_upstream);
    request.aux1 = nodeid;
    request.payload = Payload::from_json(Json::object("matchtag", matchtag));
    handle->transport->send(std::move(request));
}

void CallState::receive(Message message) {
    CallStateRef keep(this);
    bool last = !message.streaming() || message.errnum() != 0 || !streaming;
    if (last) {
        finished = true;
        retire();
    }
    if (callback) {
        auto function = callback;
        if (last) callback = nullptr;
        function(std::move(message));
        return;
    }
    inbox.push_back(std::move(message));
    if (waiter) waiter->wake();
}

Message CallState::make_error(int errnum, std::string_view text) const {
    Message message;
    message.type = MessageType::response;
    message.topic = topic;
    message.aux1 = static_cast<std::uint32_t>(errnum);
    message.aux2 = matchtag;
    message.payload = Payload::from_text(text);
    return message;
}

} // namespace detail

// Call, Stream --------------------------------------------------------------------------------------------------

Call::~Call() {
    if (ref_.state && !ref_.state->finished) ref_.state->abandon();
}
std::uint32_t Call::matchtag() const noexcept { return ref_.state->matchtag; }

void Call::then(std::function<void(Message)> callback) && { ref_.state->set_callback(std::move(callback)); }
void Stream::then(std::function<void(Message)> callback) && { ref_.state->set_callback(std::move(callback)); }

void detail::CallState::set_callback(std::function<void(Message)> function) {
    callback = std::move(function);
    while (!inbox.empty() && callback) {
        auto message = std::move(inbox.front());
        inbox.pop_front();
        callback(std::move(message));
    }
    if (finished) callback = nullptr;
}

bool Call::Awaiter::await_ready() const noexcept { return !state_->inbox.empty(); }
void Call::Awaiter::attach() noexcept { state_->waiter = &waiter_; }
Call::Awaiter::~Awaiter() {
    if (state_->waiter == &waiter_) state_->waiter = nullptr;
}
Message Call::Awaiter::await_resume() {
    if (state_->waiter == &waiter_) state_->waiter = nullptr;
    waiter_.check();
    auto message = std::move(state_->inbox.front());
    state_->inbox.pop_front();
    message.throw_if_failed();
    return message;
}

Stream::~Stream() {
    if (ref_.state && !ref_.state->finished) ref_.state->abandon();
}
std::uint32_t Stream::matchtag() const noexcept { return ref_.state->matchtag; }
void Stream::cancel() { ref_.state->send_cancel(); }

bool Stream::Awaiter::await_ready() const noexcept { return !state_->inbox.empty() || state_->finished; }
void Stream::Awaiter::attach() noexcept { state_->waiter = &waiter_; }
Stream::Awaiter::~Awaiter() {
    if (state_->waiter == &waiter_) state_->waiter = nullptr;
}
std::optional<Message> Stream::Awaiter::await_resume() {
    if (state_->waiter == &waiter_) state_->waiter = nullptr;
    waiter_.check();
    if (state_->inbox.empty()) return std::nullopt;
    auto message = std::move(state_->inbox.front());
    state_->inbox.pop_front();
    if (message.errnum() == ENODATA) return std::nullopt;
    message.throw_if_failed();
    return message;
}

// Handle --------------------------------------------------------------------------------------------------------

void Handle::State::receive(Message message) {
    switch (message.type) {
    case MessageType::response: {
        if (message.untagged()) {
            auto receiver = untagged.find(message.topic);
            if (receiver == untagged.end()) break;
            auto callback = receiver->second; // may replace itself
            callback(message);
            break;
        }
        auto found = calls.find(message.matchtag());
        if (found != calls.end()) found->second.state->receive(std::move(message));
        break;
    }
    case MessageType::request: receive_request(std::move(message)); break;
    case MessageType::event: receive_event(message); break;
    case MessageType::control: {
        auto flow = flows.find(message.aux2);
        if (message.aux1 == control_room && flow != flows.end()) flow->second->room.notify_all();
        break;
    }
    }
}

void Handle::State::receive_request(Message message) {
    Request request(new Request::State(*this, std::move(message)));
    auto& received = request.message();
    auto found = services.find(received.topic);
    if (found == services.end()) {
        if (unknown && unknown(request)) return;
        request.fail(ENOSYS, fmt::format("Unknown service method '{}'", received.topic));
        return;
    }
    auto service = found->second; // a handler may unserve itself
    request.state_->method_class = service->method_class;
    if (!(received.credentials.rolemask & (service->roles | role_owner))) {
        request.fail(EPERM, service->roles == role_owner || service->roles == role_none
                                ? "Request requires owner credentials"
                                : "Request rejected due to insufficient privilege");
        return;
    }
    try {
        service->handler(request);
    } catch (const Error& error) {
        request.fail(error);
    } catch (const std::exception& error) {
        request.fail(EPROTO, error.what());
    }
}

// Anybody may publish: an event that cannot be read is no reason to end.
void Handle::State::receive_event(const Message& event) {
    // A handler may subscribe or unsubscribe: look each one up again.
    for (std::size_t i = 0; i < subscriptions.size(); ++i) {
        if (!event.topic.starts_with(subscriptions[i].prefix)) continue;
        if (!(event.credentials.rolemask & (role_owner | subscriptions[i].roles))) continue;
        auto callback = subscriptions[i].callback;
        try {
            (*callback)(event);
        } catch (const std::exception& error) {
            log(LogLevel::err, fmt::format("event {}: {}, ignoring", event.topic, error.what()));
        }
    }
}

void Handle::State::fail_all(int errnum, std::string_view text) {
    while (!calls.empty()) {
        detail::CallStateRef call(calls.begin()->second.state);
        call.state->receive(call.state->make_error(errnum, text));
    }
}

Handle::Handle(Loop& loop, std::unique_ptr<Transport> transport)
    : state_(std::make_unique<State>(loop, std::move(transport))) {
    auto* state = state_.get();
    state->log_name = program_invocation_short_name;
    state->injector = state->transport->injector();
    state->transport->start([state](Message message) { state->receive(std::move(message)); },
                            [state](const Error& error) {
                                state->closed = true;
                                state->fail_all(ECONNRESET, connection_lost);
                                auto callback = state->on_closed;
                                if (callback) callback(error);
                            });
}

Handle::~Handle() {
    for (auto* request = state_->requests; request; request = request->next) request->handle = nullptr;
    while (!state_->calls.empty()) {
        detail::CallStateRef call(state_->calls.begin()->second.state);
        call.state->callback = nullptr;
        call.state->retire();
    }
}

std::unique_ptr<Handle> Handle::open(Loop& loop, const std::string& uri) {
    std::string target = uri;
    if (target.empty()) {
        const char* environment = std::getenv("FLUX_URI");
        target = environment ? environment : "local:///run/flux/local";
    }
    return std::make_unique<Handle>(loop, connect_uri(loop, target));
}

Loop& Handle::loop() noexcept { return state_->loop; }
Transport& Handle::transport() noexcept { return *state_->transport; }
void Handle::on_closed(std::function<void(const Error&)> callback) { state_->on_closed = std::move(callback); }
void Handle::send(Message message) { state_->transport->send(std::move(message)); }
void Handle::flush() noexcept { state_->transport->flush(); }

CallState* Handle::State::start_call(std::string_view topic, Payload payload, std::uint32_t nodeid, bool upstream,
                                     bool streaming, Credentials credentials) {
    do ++last_matchtag;
    while (last_matchtag == matchtag_none || calls.contains(last_matchtag));
    auto* call = new CallState;
    call->handle = this;
    call->matchtag = last_matchtag;
    call->topic = topic;
    call->nodeid = nodeid;
    call->sent_upstream = upstream;
    call->streaming = streaming;
    calls.emplace(last_matchtag, detail::CallStateRef(call));
    auto request = Message::request(topic);
    request.aux1 = nodeid;
    request.aux2 = last_matchtag;
    request.set(flag_upstream, upstream);
    request.set(flag_streaming, streaming);
    request.credentials = credentials;
    request.payload = std::move(payload);
    if (!closed) {
        transport->send(std::move(request));
        return call;
    }
    loop.post([reference = std::make_shared<detail::CallStateRef>(call)] {
        auto* call = reference->state;
        if (call->handle) call->receive(call->make_error(ECONNRESET, connection_lost));
    });
    return call;
}

namespace {

std::string default_cancel_topic(std::string_view topic) {
    return std::string(topic.substr(0, topic.rfind('.'))) + ".cancel";
}

std::string in_seconds(std::chrono::nanoseconds time) {
    return fmt::format("{:g}s", std::chrono::duration<double>(time).count());
}

} // namespace

Call Handle::call(std::string_view topic, Payload payload, const CallOptions& options) {
    auto* call =
        state_->start_call(topic, std::move(payload), options.nodeid_, options.upstream_, false, options.credentials_);
    if (options.deadline_.count() > 0) {
        call->deadline = std::make_unique<Timer>(state_->loop, [call, time = options.deadline_] {
            call->receive(
                call->make_error(ETIMEDOUT, fmt::format("{}: no response within {}", call->topic, in_seconds(time))));
        });
        call->deadline->start(options.deadline_);
    }
    return Call(call);
}

Stream Handle::stream(std::string_view topic, Payload payload, CallOptions options) {
    auto* call =
        state_->start_call(topic, std::move(payload), options.nodeid_, options.upstream_, true, options.credentials_);
    call->cancel_topic = options.cancel_topic_.empty() ? default_cancel_topic(topic) : std::move(options.cancel_topic_);
    return Stream(call);
}

void Handle::notify(std::string_view topic, Payload payload, const CallOptions& options) {
    auto request = Message::request(topic);
    request.aux1 = options.nodeid_;
    request.set(flag_upstream, options.upstream_);
    request.set(flag_noresponse);
    request.credentials = options.credentials_;
    request.payload = std::move(payload);
    send(std::move(request));
}

void Handle::send_untagged(std::string_view topic, Json payload, const CallOptions& options) {
    auto request = Message::request(topic);
    request.aux1 = options.nodeid_;
    request.set(flag_upstream, options.upstream_);
    request.credentials = options.credentials_;
    request.payload = Payload::from_json(std::move(payload));
    send(std::move(request));
}

void Handle::on_untagged(std::string_view topic, std::function<void(const Message&)> callback) {
    state_->untagged[std::string(topic)] = std::move(callback);
}

void Handle::publish(std::string_view topic, Payload payload, std::uint8_t flags) {
    auto event = Message::event(topic);
    event.flags = flags;
    event.payload = std::move(payload);
    send(std::move(event));
}

Call Handle::subscribe(std::string_view prefix, std::function<void(const Message&)> on_event, std::uint32_t roles) {
    auto callback = std::make_shared<std::function<void(const Message&)>>(std::move(on_event));
    state_->subscriptions.emplace_back(std::string(prefix), std::move(callback), roles);
    return call("event.subscribe", Json::object("topic", prefix));
}

void Handle::unsubscribe(std::string_view prefix) {
    auto& all = state_->subscriptions;
    for (auto at = all.begin(); at != all.end(); ++at) {
        if (at->prefix != prefix) continue;
        all.erase(at);
        notify("event.unsubscribe", Json::object("topic", prefix));
        return;
    }
}

void Handle::serve(const Method& method, Handler handler) {
    state_->services[std::string(method.topic)] =
        std::make_shared<State::Service>(method.method_class, method.roles, std::move(handler));
}

namespace {

Task<> run_handler(Handle::TaskHandler handler, Request request) {
    try {
        co_await handler(request);
    } catch (const Cancelled&) {
        throw; // whoever aborted the scope decides what becomes of the request
    } catch (const Error& error) {
        request.fail(error);
    }
}

} // namespace

void Handle::serve(const Method& method, Scope& scope, TaskHandler handler) {
    serve(method, [&scope, handler = std::move(handler)](Request request) {
        scope.spawn("request handler", &run_handler, handler, std::move(request));
    });
}

void Handle::unserve(std::string_view topic) { state_->services.erase(std::string(topic)); }
void Handle::serve_unknown(std::function<bool(const Request&)> handler) { state_->unknown = std::move(handler); }
void Handle::set_log_name(std::string name) { state_->log_name = std::move(name); }

Task<std::optional<std::string>> Handle::get_attr(std::string name) {
    std::optional<std::string> value;
    auto payload = Json::object("name", name);
    try {
        auto reply = co_await call("attr.get", std::move(payload));
        value = reply.json().get<std::string>("value");
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
    }
    co_return value;
}

void Handle::log(LogLevel level, std::string_view text) { state_->log(level, text); }

void Handle::State::log(LogLevel level, std::string_view text) {
    LogRecord record;
    record.severity = static_cast<int>(level);
    record.timestamp = log_timestamp();
    record.rank = log_rank;
    record.app = log_name;
    record.procid = std::to_string(::getpid());
    while (!text.empty()) {
        record.message = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), record.message.size() + 1));
        if (record.message.empty()) continue;
        auto request = Message::request("log.append");
        // No answer is sent to matchtag 0; the noresponse flag is left clear as existing servers expect
        // (broker.md 1.11).
        request.payload = Payload::from_bytes(record.encode());
        transport->send(std::move(request));
    }
}

// Request -------------------------------------------------------------------------------------------------------

Request::State::State(Handle::State& owner, Message received) : message(std::move(received)), handle(&owner) {
    next = owner.requests;
    if (next) next->previous = this;
    owner.requests = this;
}

Request::State::~State() {
    if (handle) {
        if (flow) handle->flows.erase(flow_id);
        if (previous)
            previous->next = next;
        else
            handle->requests = next;
        if (next) next->previous = previous;
    } else {
        // The handle went first and left the list behind.
        if (previous) previous->next = next;
        if (next) next->previous = previous;
    }
}

void Request::State::finish() noexcept {
    done = true;
    room.notify_all();
    if (handle && handle->request_done) handle->request_done->notify_all();
}

Charge Request::State::charge(const Payload& payload) {
    if (!flow && handle->injector) {
        do flow_id = ++handle->last_flow;
        while (!handle->flows.emplace(flow_id, this).second);
        flow =
            Flow(flow_limit, [inject = handle->injector, id = flow_id] { inject(Message::control(control_room, id)); });
    }
    return flow ? flow.charge(payload.weight()) : Charge();
}

Request::Request(const Request& other) noexcept : state_(other.state_) {
    if (state_) ++state_->references;
}

Request::~Request() {
    if (!state_ || --state_->references > 0) return;
    if (!answered() && !state_->message.untagged()) {
        ++state_->references; // fail() may be asked for the message
        if (state_->handle && state_->handle->finalizing)
            fail(ENOSYS);
        else
            fail(EIO, state_->message.topic + ": request was dropped without an answer");
    }
    delete state_;
}

const Message& Request::message() const noexcept { return state_->message; }

JsonView Request::json() const {
    auto& message = state_->message;
    if (!message.payload) throw Error(EPROTO, "request has no payload");
    return message.payload.json();
}

bool Request::answered() const noexcept { return state_->done || state_->message.noresponse(); }
void Request::drop() const noexcept { state_->finish(); }

void Request::respond() const { respond(Payload()); }
void Request::respond(Json payload) const { respond(Payload::from_json(std::move(payload))); }

void Request::respond(Payload payload) const {
    if (answered() || !state_->handle) return;
    if (!streaming() && !state_->message.untagged()) state_->finish();
    auto response = Message::response(state_->message);
    response.payload = std::move(payload);
    if (streaming()) response.charge = state_->charge(response.payload);
    state_->handle->transport->send(std::move(response));
}

void Request::fail(int errnum, std::string_view text) const {
    if (answered() || !state_->handle) return;
    state_->finish();
    state_->handle->transport->send(Message::response_error(state_->message, errnum, text));
}

Room Request::room() const { return Room(*this); }

Room::Room(const Request& request) noexcept : request_(request), wait_(request_.state_->room) {}

bool Room::await_ready() const noexcept {
    const auto& flow = request_.state_->flow;
    return !flow || request_.answered() || !flow.full() || !flow.wait();
}

void Request::end() const { fail(ENODATA); }

void Request::require_streaming() const {
    if (!streaming()) throw Error(EPROTO, state_->message.topic + ": request must be streaming");
}

} // namespace flux
