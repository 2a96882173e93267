// A handle: one connection to a broker. Makes RPCs, serves methods, publishes and receives events.
// Used on its loop's thread only. RPC rules: broker.md 1.7.
#pragma once

#include <flux/message.hpp>
#include <flux/task.hpp>
#include <flux/transport.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace flux {

class Handle;
class Request;
class Room;

/// What a repeat of a request may do; stands beside each method in `<service>_protocol.hpp`.
enum class MethodClass {
    read,   ///< anyone may send it again
    keyed,  ///< carries `once:{id,seq}`: a repeat gets the first answer
    once,   ///< never repeated: when its fate is unknown the caller gets EHOSTUNREACH
    stream, ///< resumed from a cursor that the service defines
};

/// One method of a service, without the service's name when it is served by a module under its own name.
class Method {
public:
    constexpr Method(std::string_view topic, MethodClass method_class, std::uint32_t roles = role_owner)
        : topic(topic), method_class(method_class), roles(roles) {}
    std::string_view topic; ///< full topic, `kvs.commit`
    MethodClass method_class;
    std::uint32_t roles; ///< who may call besides the owner
};

/// How an RPC is made. `CallOptions().rank(0).deadline(5s)`
class CallOptions {
public:
    CallOptions() noexcept {}
    CallOptions& rank(std::uint32_t rank) noexcept { return nodeid_ = rank, *this; }
    /// To a broker above this one, never the own one.
    CallOptions& upstream() noexcept { return upstream_ = true, *this; }
    CallOptions& streaming() noexcept { return streaming_ = true, *this; }
    CallOptions& noresponse() noexcept { return noresponse_ = true, *this; }
    /// Fail with ETIMEDOUT when nothing came after this time.
    CallOptions& deadline(std::chrono::nanoseconds time) noexcept { return deadline_ = time, *this; }
    /// Stamp the request with somebody else's credentials (owner only; a service that acts for its requester).
    CallOptions& credentials(Credentials credentials) noexcept { return credentials_ = credentials, *this; }
    /// Topic of the cancel request of this stream; by default that of its service, `SERVICE.cancel`.
    CallOptions& cancel_topic(std::string topic) { return cancel_topic_ = std::move(topic), *this; }

private:
    friend class Handle;
    std::uint32_t nodeid_ = nodeid_any;
    bool upstream_ = false;
    bool streaming_ = false;
    bool noresponse_ = false;
    std::chrono::nanoseconds deadline_{};
    Credentials credentials_;
    std::string cancel_topic_;
};

namespace detail {
struct CallState;
struct CallStateRef {
    CallState* state = nullptr;
    CallStateRef() = default;
    explicit CallStateRef(CallState* s) noexcept;
    CallStateRef(CallStateRef&& other) noexcept : state(std::exchange(other.state, nullptr)) {}
    CallStateRef& operator=(CallStateRef&& other) noexcept {
        std::swap(state, other.state);
        return *this;
    }
    ~CallStateRef();
};
} // namespace detail

/// An RPC under way: it was sent when this was made. Await it for the response; when it is dropped before, the response
/// is ignored.
class [[nodiscard]] Call {
public:
    Call(Call&&) noexcept = default;
    Call& operator=(Call&&) noexcept = default;
    ~Call();

    class Awaiter {
    public:
        explicit Awaiter(detail::CallState* state) noexcept : state_(state) {}
        ~Awaiter();
        bool await_ready() const noexcept;
        template <class P> bool await_suspend(std::coroutine_handle<P> coroutine) {
            if (!waiter_.suspend(coroutine)) return false;
            attach();
            return true;
        }
        Message await_resume();

    private:
        void attach() noexcept;
        detail::CallState* state_;
        Waiter waiter_;
    };
    /// \return the response. \throws Error of a failed response; Cancelled when the awaiting scope is aborted.
    Awaiter operator co_await() const noexcept { return Awaiter(ref_.state); }
    /// Call back with the response (check `errnum()`) instead of being awaited. The callback may outlive this object.
    void then(std::function<void(Message)> callback) &&;
    std::uint32_t matchtag() const noexcept;

private:
    friend class Handle;
    friend class Stream;
    explicit Call(detail::CallState* state) noexcept : ref_(state) {}
    detail::CallStateRef ref_;
};

/// A streaming RPC. Dropped before its end, it is cancelled.
class [[nodiscard]] Stream {
public:
    Stream(Stream&&) noexcept = default;
    Stream& operator=(Stream&&) noexcept = default;
    ~Stream();

    class Awaiter {
    public:
        explicit Awaiter(detail::CallState* state) noexcept : state_(state) {}
        ~Awaiter();
        bool await_ready() const noexcept;
        template <class P> bool await_suspend(std::coroutine_handle<P> coroutine) {
            if (!waiter_.suspend(coroutine)) return false;
            attach();
            return true;
        }
        std::optional<Message> await_resume();

    private:
        void attach() noexcept;
        detail::CallState* state_;
        Waiter waiter_;
    };
    /// The next response; nothing when the stream has ended (ENODATA). \throws Error when it ended otherwise.
    Awaiter next() const noexcept { return Awaiter(ref_.state); }
    /// Ask the service to end the stream: responses go on until its end arrives.
    void cancel();
    /// Call back with each response, the last being the one with an errnum; the callback may outlive this object.
    void then(std::function<void(Message)> callback) &&;
    std::uint32_t matchtag() const noexcept;

private:
    friend class Handle;
    explicit Stream(detail::CallState* state) noexcept : ref_(state) {}
    detail::CallStateRef ref_;
};

/// A received request. Copies share it; when the last copy of an unanswered one goes, it is answered with an error.
class Request {
public:
    Request() = default;
    Request(const Request& other) noexcept;
    Request(Request&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Request& operator=(Request other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~Request();

    explicit operator bool() const noexcept { return state_ != nullptr; }
    const Message& message() const noexcept;
    /// The payload's JSON object. \throws Error EPROTO when there is none.
    JsonView json() const;
    /// The payload's JSON object, or nothing when the request has no payload.
    JsonView json_or_none() const { return message().json(); }
    Credentials credentials() const noexcept { return message().credentials; }
    bool streaming() const noexcept { return message().streaming(); }
    std::uint32_t matchtag() const noexcept { return message().matchtag(); }
    /// Route id of whoever made the request.
    std::string_view sender() const noexcept { return message().sender(); }
    /// Same originator: what a disconnect or cancel request refers to.
    bool same_sender(const Request& other) const noexcept { return sender() == other.sender(); }

    /// Answer. A plain request takes one answer; a streaming one any number, until fail(), and so does one without a
    /// matchtag (see Handle::send_untagged), which may be dropped without an answer.
    void respond() const;
    void respond(Json payload) const;
    void respond(Payload payload) const;
    /// Answer with an error; ends a stream (ENODATA: its normal end).
    void fail(int errnum, std::string_view text = {}) const;
    void fail(const Error& error) const { fail(error.errnum(), error.text()); }
    /// Normal end of a stream.
    void end() const;
    /// Wait while much of what was answered to this stream is still under way: its reader is slow. Over at once when
    /// no more answers are wanted. `request.respond(...); co_await request.room();`
    Room room() const;
    /// No more answers are wanted: answered, ended, or sent without wanting one.
    bool answered() const noexcept;
    /// Forget the request without an answer: its sender is gone.
    void drop() const noexcept;
    /// \throws Error EPROTO when the request is not streaming.
    void require_streaming() const;

private:
    friend class Handle;
    friend class ModuleRuntime;
    friend class Room;
    struct State;
    explicit Request(State* state) noexcept : state_(state) {}
    State* state_ = nullptr;
};

/// What Request::room() returns.
class Room {
public:
    bool await_ready() const noexcept;
    template <class P> bool await_suspend(std::coroutine_handle<P> coroutine) { return wait_.await_suspend(coroutine); }
    void await_resume() { wait_.await_resume(); }

private:
    friend class Request;
    explicit Room(const Request& request) noexcept;
    Request request_;
    Condition::Awaiter wait_;
};

/// Log levels are syslog's.
enum class LogLevel { emerg, alert, crit, err, warning, notice, info, debug };

class Handle {
public:
    Handle(Loop& loop, std::unique_ptr<Transport> transport);
    ~Handle();
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    /// Open a connection; an empty `uri` means FLUX_URI, then the system instance. Blocking.
    /// \throws Error as connect_uri().
    static std::unique_ptr<Handle> open(Loop& loop, const std::string& uri = {});

    Loop& loop() noexcept;
    Transport& transport() noexcept;
    /// Called when the connection is lost; every RPC under way has failed with ECONNRESET by then, later ones will.
    void on_closed(std::function<void(const Error&)> callback);

    Call call(std::string_view topic, const CallOptions& options = {}) { return call(topic, Payload(), options); }
    Call call(std::string_view topic, Json payload, const CallOptions& options = {}) {
        return call(topic, Payload::from_json(std::move(payload)), options);
    }
    Call call(std::string_view topic, Payload payload, const CallOptions& options = {});
    Stream stream(std::string_view topic, Json payload, CallOptions options = {}) {
        return stream(topic, Payload::from_json(std::move(payload)), std::move(options));
    }
    Stream stream(std::string_view topic, Payload payload = {}, CallOptions options = {});
    /// A request that wants no response.
    void notify(std::string_view topic, Json payload, const CallOptions& options = {}) {
        notify(topic, Payload::from_json(std::move(payload)), options);
    }
    void notify(std::string_view topic, Payload payload = {}, const CallOptions& options = {});

    /// A request of a protocol without matchtags (`sched.alloc`, `job-exec.start`): its answers, any number and in any
    /// order, say in their payload what they belong to and go to whoever called on_untagged() for the topic.
    void send_untagged(std::string_view topic, Json payload, const CallOptions& options = {});
    /// Receive the answers to untagged requests for exactly this topic, failed ones too.
    void on_untagged(std::string_view topic, std::function<void(const Message&)> callback);

    /// Publish an event without waiting for its sequence number.
    void publish(std::string_view topic, Payload payload = {}, std::uint8_t flags = 0);
    void publish(std::string_view topic, Json payload, std::uint8_t flags = 0) {
        publish(topic, Payload::from_json(std::move(payload)), flags);
    }
    /// Receive events whose topic begins with `prefix`. Await the result before relying on it.
    /// \param roles  who may publish them besides the owner: anybody can send an event of any topic (broker.md 1.5).
    Call subscribe(std::string_view prefix, std::function<void(const Message&)> on_event,
                   std::uint32_t roles = role_owner);
    void unsubscribe(std::string_view prefix);

    using Handler = std::function<void(Request)>;
    using TaskHandler = std::function<Task<>(Request)>;
    /// Serve a method: requests for exactly this topic from one of its roles (or the owner) go to `handler`; others get
    /// EPERM. An Error thrown becomes the answer.
    void serve(const Method& method, Handler handler);
    /// Serve by a coroutine, run in `scope`.
    void serve(const Method& method, Scope& scope, TaskHandler handler);
    void unserve(std::string_view topic);
    /// Called for requests that no method takes, before ENOSYS is answered; returns true when it took the request.
    void serve_unknown(std::function<bool(const Request&)> handler);

    /// The value that a broker attribute has now; nothing when it is not set.
    Task<std::optional<std::string>> get_attr(std::string name);

    /// Log through the broker (`log.append`). Lines of a multi-line text become records of their own.
    void log(LogLevel level, std::string_view text);
    /// Name under which log() logs; by default the program's.
    void set_log_name(std::string name);

    /// Send any message as it is.
    void send(Message message);
    /// Block until what was sent has left; for the last words of a process.
    void flush() noexcept;

private:
    friend struct detail::CallState;
    friend class Request;
    friend class ModuleRuntime;
    struct State;
    std::unique_ptr<State> state_;
};

/// Open requests (streams and waits) with what the service keeps for each; cancel and disconnect are the same
/// everywhere.
template <class T> class RequestList {
public:
    struct Entry {
        Request request;
        T data;
        Entry(Request r, T d) : request(std::move(r)), data(std::move(d)) {}
    };
    T& add(Request request, T data = {}) {
        entries_.emplace_back(std::make_unique<Entry>(std::move(request), std::move(data)));
        return entries_.back()->data;
    }
    bool empty() const noexcept { return entries_.empty(); }
    std::size_t size() const noexcept { return entries_.size(); }
    /// Visit every entry; those for which `visit` returns true are removed. Entries may be added meanwhile.
    template <class F> void remove_if(F&& visit) {
        for (std::size_t i = 0; i < entries_.size();) {
            if (!visit(*entries_[i])) {
                ++i;
                continue;
            }
            entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    template <class F> void for_each(F&& visit) {
        for (std::size_t i = 0; i < entries_.size(); ++i) visit(*entries_[i]);
    }
    /// Handle `SERVICE.cancel {matchtag}`: end the stream of that sender with ENODATA.
    void cancel(const Request& request) {
        auto matchtag = request.json().template get<std::uint32_t>("matchtag");
        remove_if([&](Entry& entry) {
            if (entry.request.matchtag() != matchtag || !entry.request.same_sender(request)) return false;
            entry.request.end();
            return true;
        });
    }
    /// Handle `SERVICE.disconnect`: drop what that sender had open.
    void disconnect(const Request& request) {
        remove_if([&](Entry& entry) {
            if (!entry.request.same_sender(request)) return false;
            entry.request.drop();
            return true;
        });
    }

private:
    std::vector<std::unique_ptr<Entry>> entries_;
};

} // namespace flux
