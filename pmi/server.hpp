// The server side of PMI-1 for the clients of one process: the job shell serves its tasks, `flux start` its brokers.
// Pure state: lines of clients in, lines for clients and requests to the embedding program out. Nothing is durable.
//
// Pairs become visible to all local clients when put and to the others at the next barrier. When all clients of the job
// are local a barrier ends here; otherwise the embedder merges the pairs of all servers of the job and hands the union
// back.
#pragma once

#include <map>
#include <optional>
#include <pmi/wire.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace flux::pmi {

using Pairs = std::map<std::string, std::string, std::less<>>;

class Server {
public:
    struct Options {
        std::string kvsname;
        unsigned local_clients = 1;
        /// Clients of the whole job.
        unsigned universe_size = 1;
    };

    /// Bytes to be written to a client: one line with its newline.
    struct Reply {
        unsigned client;
        std::string bytes;
    };
    struct Abort {
        int exit_code;
        std::string text;
    };
    /// What the embedder has to do after an event.
    struct Outcome {
        std::vector<Reply> replies;
        /// Every local client is in the barrier: exchange these pairs with the other servers of the job, then call
        /// `barrier_complete` with the union or `barrier_failed`.
        std::optional<Pairs> exchange;
        /// The client asked to end the job.
        std::optional<Abort> abort;
        /// The client said goodbye; its channel may be closed once the reply is written.
        bool finalized = false;
    };

    explicit Server(Options options);

    /// Give a key its value before clients start; local to this server. False when key or value is too long for the
    /// protocol, the key is then left out.
    bool preset(std::string_view key, std::string_view value);

    /// A line from a client.
    /// \param client  index below `local_clients`.
    /// \throws Error EPROTO when the client does not speak the protocol: it must be dropped.
    ///         After an abort such lines are ignored.
    Outcome feed(unsigned client, std::string_view line);

    /// The exchange has ended; `pairs` is the union over the job.
    std::vector<Reply> barrier_complete(Pairs pairs);
    std::vector<Reply> barrier_failed();

private:
    struct Client {
        bool in_barrier = false;
        bool in_spawn = false;
    };

    void command(unsigned client, const Line& line, Outcome& outcome);
    std::string init(const Line& line) const;
    std::string put(const Line& line);
    std::string get(const Line& line) const;
    void enter_barrier(unsigned client, Outcome& outcome);
    std::vector<Reply> leave_barrier(int code);
    const std::string* find(std::string_view key) const;

    Options options_;
    std::vector<Client> clients_;
    unsigned entered_ = 0;
    bool aborted_ = false;
    Pairs local_;
    Pairs pending_;
    Pairs global_;
};

} // namespace flux::pmi
