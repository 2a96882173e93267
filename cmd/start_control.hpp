// The service of `flux start` for those who play with its brokers (cli.md 6.18): `start.status`, `start.run`,
// `start.kill`, `start.wait` on a socket of its own. Runs on the command's loop.
#pragma once

#include "broker/listener/listener.hpp"

#include <flux/transport.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace flux::cmd {

class StartControl {
public:
    /// What can be done to the brokers. Ranks are checked.
    class Brokers {
    public:
        Brokers() {}
        unsigned size = 0;
        std::function<int(unsigned rank)> pid; ///< 0: not running
        std::function<void(unsigned rank)> run;
    };

    /// \param path  of the socket.
    StartControl(Loop& loop, const std::string& path, Brokers brokers);
    ~StartControl();
    /// A broker has ended: whoever waits for it is told.
    void on_exit(unsigned rank, int code);

private:
    struct Client {
        std::unique_ptr<SocketTransport> transport;
    };
    struct Wait {
        std::weak_ptr<Client> client;
        Message request;
    };
    void admit(FileDescriptor socket, const ucred& peer);
    void on_message(const std::shared_ptr<Client>& client, const Message& request);
    /// \return nothing when the answer comes later
    std::optional<Json> serve(const std::shared_ptr<Client>& client, const Message& request);
    unsigned rank_of(const Message& request) const;

    Loop& loop_;
    Brokers brokers_;
    std::map<Client*, std::shared_ptr<Client>> clients_;
    std::map<unsigned, Wait> waits_; ///< by rank
    std::map<unsigned, int> ended_;  ///< exit codes of those that are not running any more
    broker::Listener listener_;
};

} // namespace flux::cmd
