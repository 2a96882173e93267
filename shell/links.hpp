// Messages between the shells of a job: in order, each once, across restarts of brokers. One request is under way to a
// shell, what is sent meanwhile goes into the next.
#pragma once

#include <flux/handle.hpp>
#include <flux/task.hpp>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flux::shell {

class Links {
public:
    /// What the links need of the shell.
    class Host {
    public:
        /// Make a request of this shell's `link` method on another; throws when it failed for good.
        virtual Task<> deliver(unsigned rank, Payload payload) = 0;
        /// The shell cannot be reached any more, or sent what is malformed.
        virtual void link_error(unsigned rank, const Error& error) = 0;
        /// Work for link tasks, and the number of links with something to send.
        virtual Scope& link_scope() noexcept = 0;
        virtual void link_busy(bool busy) = 0;

    protected:
        ~Host() = default;
    };
    using Receiver = std::function<void(unsigned from, JsonView payload)>;

    Links(Host& host, unsigned own_rank) : host_(host), own_rank_(own_rank) {}

    /// The other shells can be reached now.
    void open();
    void send(unsigned rank, std::string_view kind, Json payload);
    std::size_t unsent(unsigned rank) const noexcept;
    /// Call back once when `count` or fewer are unsent; soon when that is so.
    void when_unsent(unsigned rank, std::size_t count, std::function<void()> callback);

    void on_message(std::string_view kind, Receiver receiver);
    /// A request of another shell. \throws Error EPROTO, EINVAL
    void receive(Request request);
    void stall(bool on);

private:
    struct Waiting {
        std::size_t count;
        std::function<void()> callback;
    };
    struct Peer {
        std::deque<Json> queue;
        std::size_t under_way = 0;
        std::int64_t sent = 0;     // sequence number of the last request to it
        std::int64_t received = 0; // and of the last one taken from it
        bool running = false;
        bool lost = false;
        std::vector<Waiting> waiting;
    };
    static Task<> run(Links* self, unsigned rank);
    void start(unsigned rank, Peer& peer);
    void dispatch(unsigned from, JsonView message);
    void call_waiting(Peer& peer);

    Host& host_;
    const unsigned own_rank_;
    bool open_ = false;
    bool stalled_ = false;
    std::map<unsigned, Peer> peers_;
    std::map<std::string, Receiver, std::less<>> receivers_;
    std::vector<Request> unconfirmed_;
};

} // namespace flux::shell
