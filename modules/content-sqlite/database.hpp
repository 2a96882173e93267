// The tables of content.sqlite (kvs-content.md 1.8) and what is done to them. The file is Flux's own format, so that
// databases move both ways; `flux_ns` and `flux_once` are ours and of no concern to others.
//
// Always WAL: a commit survives the death of every process. Whether it survives loss of power is up to `synchronous`;
// with NORMAL it does from the next sync on.
#pragma once

#include "sqlite.hpp"
#include "store_lock.hpp"

#include <flux/content_commit.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flux {

class DatabaseOptions {
public:
    DatabaseOptions() {}
    std::string path;
    std::string synchronous = "NORMAL"; ///< EXTRA, FULL, NORMAL, OFF
    int max_checkpoints = 5;
    std::int64_t preallocate = 0; ///< bytes of disk to hold from the start
    bool truncate = false;        ///< begin with an empty one
};

class Database {
public:
    /// Open or create. \throws Error EBUSY when somebody else has it; else what is wrong with the file.
    explicit Database(const DatabaseOptions& options);

    // Blobs; digests are raw bytes.
    /// \throws Error EINVAL when the row is damaged.
    std::optional<std::string> load(std::string_view digest);
    bool contains(std::string_view digest);
    void store(std::string_view digest, std::string_view bytes);
    std::int64_t object_count();

    // Checkpoints.
    /// `[{id, value}, ...]`, newest first. \throws Error EINVAL when one is no JSON.
    Json checkpoints();
    /// Keep a new one beside the older ones.
    void put_checkpoint(JsonView value);
    /// Id of the newest checkpoint, 0 when there is none: the epoch that blobs are stored in.
    std::int64_t epoch() const noexcept { return epoch_; }

    /// All of it, or nothing and an Error.
    void commit(const ContentCommit& commit);
    /// `[{namespace, owner, flags, rootref, rootseq}, ...]`
    Json namespaces();
    /// `{seq, result}`
    std::optional<Json> once(std::string_view id);

    sqlite::Connection& connection() noexcept { return connection_; }

private:
    void open_tables();
    std::int64_t insert_checkpoint(JsonView value);
    void update_checkpoint(JsonView value);
    void write_tail(JsonView tail);
    void sync();

    DatabaseOptions options_;
    StoreLock lock_;
    sqlite::Connection connection_;
    std::int64_t epoch_ = 0;
    // The checkpoint that commits update, 0 before this run's first one: what an earlier run left stays as it is.
    std::int64_t own_checkpoint_ = 0;
    std::string compressed_;

    class Statements;
    struct StatementsDelete {
        void operator()(Statements* statements) const noexcept;
    };
    std::unique_ptr<Statements, StatementsDelete> statements_;
};

} // namespace flux
