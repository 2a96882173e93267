// The way up: the session with the parent. It begins with hello; when the link breaks the session is held, that is,
// what wants up waits while the parent is looked for, and resumed by another hello. Runs on the broker's loop.
#pragma once

#include "broker/overlay/held_messages.hpp"
#include "broker/overlay/link.hpp"

#include <flux/task.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace flux::broker {

class Upstream {
public:
    class Environment {
    public:
        Environment() {}
        std::uint32_t parent = nodeid_any; ///< its rank
        /// nullopt: hold without an end; 0: not at all
        std::optional<std::chrono::nanoseconds> hold_timeout = std::chrono::nanoseconds(0);
        std::size_t hold_limit = 0; ///< bytes
        std::function<Task<std::unique_ptr<Transport>>()> connect;
        std::function<std::unique_ptr<Link>(std::unique_ptr<Transport>)> make_link;
        std::function<Json()> hello;                           ///< what we say of ourselves
        std::function<void(Link&, JsonView answer)> on_joined; ///< hello was answered; open() follows a second join
        std::function<void(Link&, Message)> on_message;        ///< of the joined link
        std::function<void(Link&)> on_link_lost;               ///< it is not in use any more
        std::function<void()> on_path;                         ///< path() has changed
        std::function<void(const Error& why, bool by_refusal)> on_ended; ///< there is no way up any more
        std::function<void(LogLevel, const std::string&)> log;
    };
    /// What `overlay.path` tells.
    class Path {
    public:
        Path() {}
        bool held = false;
        bool silent = false;             ///< held, and the link to the parent is there
        std::uint32_t rank = nodeid_any; ///< out of reach, or the parent
        std::string reason;
        std::chrono::system_clock::time_point since = std::chrono::system_clock::now();
    };

    Upstream(Loop& loop, Router& router, Scope& scope, Environment environment);
    ~Upstream();

    /// As far as known, for texts.
    void set_parent_host(std::string host) { parent_host_ = std::move(host); }
    /// Connect and say hello, for as long as it takes. \throws Error with the refusal
    Task<> join();
    /// The parent serves: what is held goes up, then everything as it comes.
    void open();
    /// The parent will go and come back: hold from now on.
    void pause(const std::string& reason);
    /// The end of this broker: say goodbye to the parent.
    void leave(std::chrono::nanoseconds limit);
    /// Nothing is held any more: those that wait, and those to come, fail.
    void give_up(const std::string& why);

    /// Drop the link, to find it again.
    void disconnect(const std::string& reason);
    /// The parent does not want this broker: there is no way up any more.
    void end(const Error& why);

    /// Where messages to the parent go: the link, or those that are held; nullptr when there is no way.
    Endpoint* endpoint() noexcept;
    /// The joined link, if there is one.
    Link* link() const noexcept { return link_ && link_->joined ? link_.get() : nullptr; }
    bool opened() const noexcept { return open_; }
    const Path& path() const noexcept { return path_; }
    std::size_t held_count() const noexcept { return held_.count(); }

    /// The way is broken, or not, further up: 0, or 1 + the rank that is out of reach.
    void set_path_above(std::uint32_t status);
    /// The parent has not been heard of for so long. It is responsive again with its next message.
    void set_silent(std::chrono::nanoseconds silence);
    bool silent() const noexcept { return silent_; }

private:
    class Hold; // the endpoint of what is held
    Task<> attempt();
    static Task<> resume(Upstream* self);
    void on_message(Link& link, Message message);
    void accept(Link& link, JsonView answer);
    void on_closed(Link& link, const Error& error);
    void lost(const std::string& reason);
    void end(const Error& why, bool by_refusal);
    void update_path();
    std::string parent_text() const;

    Loop& loop_;
    Router& router_;
    Scope scope_;
    Environment environment_;
    std::string parent_host_;
    HeldMessages held_;
    std::unique_ptr<Hold> hold_;
    std::unique_ptr<Link> link_;
    bool accepted_ = false;        // by the parent, on this link
    std::optional<Error> refusal_; // of it
    Condition hello_done_;
    bool joined_once_ = false;
    bool open_ = false;
    bool silent_ = false;
    std::uint32_t above_ = 0; // see set_path_above()
    std::string why_closed_;  // while it is not open
    bool leaving_ = false;
    bool ended_ = false;
    Timer hold_timer_;
    Path path_;
};

} // namespace flux::broker
