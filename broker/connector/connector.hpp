// The local socket: accepts clients, gives them credentials, routes for them (broker.md 1.4, 1.5, 2.4).
#pragma once

#include "broker/listener/listener.hpp"
#include "broker/router/router.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace flux::broker {

class Connector final : public Endpoint {
public:
    class Environment {
    public:
        Environment() {}
        std::function<void(LogLevel, const std::string&)> log;
        std::function<bool()> online; ///< false: only the exempt requests are let through
    };
    Connector(Loop& loop, Router& router, Environment environment);
    ~Connector() override;

    /// \throws Error when the socket cannot be made
    void listen(const std::string& path);
    /// Take `[access]`. \throws Error EINVAL for a bad one, changing nothing
    void configure(JsonView config);
    void serve(Handle& handle);
    void deliver(Message message) override;
    /// Write what clients have not got yet, and close.
    void close() noexcept;

private:
    class Client;
    /// Seconds that a client may leave a full queue unread.
    static constexpr double default_client_stall = 600;
    void admit(FileDescriptor socket, const ucred& peer);
    void on_message(Client& client, Message message);
    void on_closed(Client& client);
    void on_stalled(Client& client);
    void intercept(Client& client, const Message& request);
    bool accept_route(Client& client, Message& request);
    void answer(Client& client, const Message& request, int errnum = 0, std::string_view text = {});
    Json stats() const;

    Loop& loop_;
    Router& router_;
    Environment environment_;
    std::optional<Listener> listener_;
    std::map<std::string, std::unique_ptr<Client>, std::less<>> clients_;
    bool allow_guest_user_ = false;
    bool allow_root_owner_ = false;
    std::uint64_t connects_ = 0;
    bool deny_next_ = false;
    bool unknown_next_ = false; // the next client is somebody with role user and no userid
    double client_stall_ = default_client_stall;
};

} // namespace flux::broker
