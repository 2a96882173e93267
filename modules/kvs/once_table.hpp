// Last commits of writers that may repeat them (`once` of a commit): in memory those of late, all in the backing store.
#pragma once

#include <flux/handle.hpp>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace flux::kvs_store {

class OnceTable {
public:
    enum class Verdict { apply, answered, unknown };

    /// A commit with seq by this writer: `apply` it and tell finish() or fail(), or it is a repeat and is answered, now
    /// or with the first. `unknown`: look the writer up in the store, tell learn(), ask again.
    /// \throws Error EINVAL when seq is neither the last nor the next.
    Verdict begin(const Request& request, const std::string& id, std::int64_t seq);
    /// What the store knows about this writer: its last commit, if any.
    void learn(const std::string& id, std::optional<std::int64_t> seq, Json result);
    void finish(const std::string& id, std::int64_t seq, const Json& result);
    void fail(const std::string& id, const Error& error);

private:
    struct Writer {
        std::string id;
        std::optional<std::int64_t> last;
        Json result;
        bool busy = false;            // last + 1 is under way
        std::int64_t seq = 0;         // that one
        std::vector<Request> repeats; // of it
    };
    using Position = std::list<Writer>::iterator;
    Position touch(const std::string& id);
    void shrink();

    std::list<Writer> writers_; // used last first
    std::unordered_map<std::string, Position> index_;
};

} // namespace flux::kvs_store
