// What stands behind Handle, Call and Request; shared by the RPC code and the module runtime.
#pragma once

#include <flux/handle.hpp>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace flux {

namespace detail {

struct CallState {
    Handle::State* handle = nullptr; // null once the call left the handle's table
    std::uint32_t matchtag = 0;
    std::uint32_t references = 0;
    std::string topic;
    std::string cancel_topic;
    std::uint32_t nodeid = nodeid_any;
    bool sent_upstream = false;
    bool streaming = false;
    bool finished = false;
    std::deque<Message> inbox;
    Waiter* waiter = nullptr;
    std::function<void(Message)> callback;
    std::unique_ptr<Timer> deadline;

    void release() noexcept;
    void retire() noexcept;
    void abandon() noexcept;
    void send_cancel() noexcept;
    void receive(Message message);
    void set_callback(std::function<void(Message)> function);
    Message make_error(int errnum, std::string_view text) const;
};

} // namespace detail

struct Handle::State {
    State(Loop& loop, std::unique_ptr<Transport> transport) : loop(loop), transport(std::move(transport)) {}
    void receive(Message message);
    void receive_request(Message message);
    void receive_event(const Message& event);
    void log(LogLevel level, std::string_view text);
    void fail_all(int errnum, std::string_view text);
    detail::CallState* start_call(std::string_view topic, Payload payload, std::uint32_t nodeid, bool upstream,
                                  bool streaming, Credentials credentials);

    struct Service {
        Service(MethodClass method_class, std::uint32_t roles, Handler handler)
            : method_class(method_class), roles(roles), handler(std::move(handler)) {}
        MethodClass method_class;
        std::uint32_t roles;
        Handler handler;
    };
    struct Subscription {
        Subscription(std::string prefix, std::shared_ptr<std::function<void(const Message&)>> callback,
                     std::uint32_t roles)
            : prefix(std::move(prefix)), callback(std::move(callback)), roles(roles) {}
        std::string prefix;
        std::shared_ptr<std::function<void(const Message&)>> callback;
        std::uint32_t roles;
    };

    Loop& loop;
    std::unique_ptr<Transport> transport;
    std::function<void(const Error&)> on_closed;
    bool closed = false; // the connection is lost: whatever is asked fails
    std::unordered_map<std::uint32_t, detail::CallStateRef> calls;
    std::uint32_t last_matchtag = 0;
    std::unordered_map<std::string, std::shared_ptr<Service>> services;
    std::function<bool(const Request&)> unknown;
    std::unordered_map<std::string, std::function<void(const Message&)>> untagged; // by topic
    std::vector<Subscription> subscriptions;
    Request::State* requests = nullptr; // every request that somebody still holds
    std::string log_name;
    std::uint32_t log_rank = 0;
    Condition* request_done = nullptr;                        // told when a request got its last answer
    std::function<void(Message)> injector;                    // of the transport
    std::unordered_map<std::uint32_t, Request::State*> flows; // streams, by the id that on_room tells
    std::uint32_t last_flow = 0;
    bool finalizing = false; // requests dropped from now on are answered as if the service were gone
};

struct Request::State {
    State(Handle::State& owner, Message received);
    ~State();
    void finish() noexcept;
    Charge charge(const Payload& payload);
    Message message;
    Handle::State* handle; // null when the handle is gone
    MethodClass method_class = MethodClass::once;
    std::uint32_t references = 1;
    bool done = false;
    Flow flow; // of a stream, since its first answer
    std::uint32_t flow_id = 0;
    Condition room;
    State* next = nullptr;
    State* previous = nullptr;
};

} // namespace flux
