#include "database.hpp"

#include <fmt/core.h>
#include <lz4.h>

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace flux {
namespace {

// Blobs from this size on are compressed; part of the file format.
constexpr std::size_t compression_threshold = 256;
// LZ4 cannot expand more than this: a size in a damaged row beyond it is not worth the allocation.
constexpr std::int64_t max_expansion = 256;
// A larger buffer is not kept for the next blob.
constexpr std::size_t kept_buffer = 1 << 20;
// Answers to repeated commits that nobody asked for in this time are forgotten when the database is opened.
constexpr std::int64_t once_lifetime = 30 * 24 * 3600;

// Pages in the log when it is emptied into the file, 16 MiB. The keys of blobs are random, so most commits touch the
// same pages again: SQLite's own 1000 writes each of them to the file four times as often.
constexpr int log_pages = 4000;

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS objects(  hash BLOB PRIMARY KEY,  size INT,  object BLOB,  epoch INT DEFAULT 0);
CREATE TABLE IF NOT EXISTS checkpt_v2(  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,  value TEXT);
CREATE TABLE IF NOT EXISTS flux_ns(
  namespace TEXT PRIMARY KEY, owner INT, flags INT, rootref TEXT, rootseq INT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flux_once(
  id TEXT PRIMARY KEY, seq INT, namespace TEXT, result TEXT, time INT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS flux_once_namespace ON flux_once(namespace);
)";

void remove_database(const std::string& path) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        auto file = path + suffix;
        if (::unlink(file.c_str()) < 0 && errno != ENOENT)
            throw Error(errno, fmt::format("cannot remove {}: {}", file, errno_text(errno)));
    }
}

// SQLite would open a file without write permission too, and fail later.
void check_access(const std::string& path) {
    if (::access(path.c_str(), R_OK | W_OK) < 0 && errno != ENOENT)
        throw Error(errno, fmt::format("cannot open {}: {}", path, errno_text(errno)));
}

const std::string& prepare_file(const DatabaseOptions& options) {
    if (options.truncate) remove_database(options.path);
    check_access(options.path);
    return options.path;
}

// The log is reserved too: what fills it first may find no room for the pages of the file, which wait in it.
void reserve_log(const std::string& path) {
    constexpr off_t log_size = 2 * log_pages * 4096;
    auto file = path + "-wal";
    int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) throw Error(errno, fmt::format("cannot open {}: {}", file, errno_text(errno)));
    int errnum = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, log_size) < 0 ? errno : 0;
    ::close(fd);
    if (errnum && errnum != EOPNOTSUPP)
        throw Error(errnum, fmt::format("cannot reserve space for {}: {}", file, errno_text(errnum)));
}

Json parse_stored(std::string_view text) {
    try {
        return Json::parse(text);
    } catch (const Error& error) {
        throw Error(EINVAL, fmt::format("stored text is damaged: {}", error.what()));
    }
}

} // namespace

class Database::Statements {
public:
    explicit Statements(sqlite::Connection& db)
        : load(db, "SELECT object, size FROM objects WHERE hash = ?1"),
          contains(db, "SELECT 1 FROM objects WHERE hash = ?1"),
          store(db, "INSERT INTO objects (hash, size, object, epoch) VALUES (?1, ?2, ?3, ?4)"
                    " ON CONFLICT (hash) DO UPDATE SET epoch = excluded.epoch WHERE epoch < excluded.epoch"),
          checkpoints(db, "SELECT id, value FROM checkpt_v2 ORDER BY id DESC"),
          insert_checkpoint(db, "INSERT INTO checkpt_v2 (value) VALUES (?1)"),
          trim_checkpoints(db, "DELETE FROM checkpt_v2 WHERE id NOT IN"
                               " (SELECT id FROM checkpt_v2 ORDER BY id DESC LIMIT ?1)"),
          update_checkpoint(db, "UPDATE checkpt_v2 SET value = ?1 WHERE id = ?2"),
          namespaces(db, "SELECT namespace, owner, flags, rootref, rootseq FROM flux_ns"),
          put_namespace(db, "INSERT OR REPLACE INTO flux_ns VALUES (?1, ?2, ?3, ?4, ?5)"),
          remove_namespace(db, "DELETE FROM flux_ns WHERE namespace = ?1"),
          once(db, "SELECT seq, result FROM flux_once WHERE id = ?1"),
          put_once(db, "INSERT OR REPLACE INTO flux_once VALUES (?1, ?2, ?3, ?4, ?5)"),
          remove_once(db, "DELETE FROM flux_once WHERE namespace = ?1") {}

    sqlite::Statement load, contains, store;
    sqlite::Statement checkpoints, insert_checkpoint, trim_checkpoints, update_checkpoint;
    sqlite::Statement namespaces, put_namespace, remove_namespace, once, put_once, remove_once;
};

void Database::StatementsDelete::operator()(Statements* statements) const noexcept { delete statements; }

Database::Database(const DatabaseOptions& options)
    : options_(options), lock_(options.path + ".lock", options.path), connection_(prepare_file(options_)) {
    try {
        open_tables();
        statements_.reset(new Statements(connection_));
        if (options_.preallocate > 0) {
            connection_.reserve(options_.preallocate);
            reserve_log(options_.path);
        }
    } catch (const Error& error) {
        throw error.while_doing(options_.path);
    }
}

void Database::open_tables() {
    // Only a database without tables takes this.
    connection_.execute("PRAGMA auto_vacuum=INCREMENTAL");
    connection_.execute("PRAGMA locking_mode=EXCLUSIVE");
    if (connection_.query_text("PRAGMA journal_mode=WAL") != "wal")
        throw Error(EINVAL, "the file system does not allow a write-ahead log");
    connection_.execute(fmt::format("PRAGMA wal_autocheckpoint={}", log_pages).c_str());
    connection_.execute(("PRAGMA synchronous=" + options_.synchronous).c_str());
    sqlite::Transaction transaction(connection_);
    connection_.execute(schema);
    if (connection_.query_int("SELECT count(*) FROM pragma_table_info('objects') WHERE name = 'epoch'") == 0)
        connection_.execute("ALTER TABLE objects ADD COLUMN epoch INT DEFAULT 0");
    if (connection_.query_int("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'checkpt'") > 0) {
        auto old = connection_.query_text("SELECT value FROM checkpt WHERE key = 'kvs-primary'");
        if (!old.empty()) {
            Json::parse(old, "checkpoint of an old database");
            sqlite::Statement(connection_, "INSERT INTO checkpt_v2 (value) VALUES (?1)").bind_text(1, old).run();
        }
        connection_.execute("DROP TABLE checkpt");
    }
    sqlite::Statement(connection_, "DELETE FROM flux_once WHERE time < ?1")
        .bind(1, ::time(nullptr) - once_lifetime)
        .run();
    transaction.commit();
    epoch_ = connection_.query_int("SELECT max(id) FROM checkpt_v2");
}

std::optional<std::string> Database::load(std::string_view digest) {
    auto& query = statements_->load;
    sqlite::Reset reset(query);
    query.bind_text(1, digest);
    if (!query.step()) return std::nullopt;
    auto object = query.column_bytes(0);
    auto size = query.column_int(1);
    if (size == -1) return std::string(object);
    auto stored = static_cast<std::int64_t>(object.size());
    if (size < 0 || size > LZ4_MAX_INPUT_SIZE || size > stored * max_expansion)
        throw Error(EINVAL, "size of a compressed blob is damaged");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    int got = ::LZ4_decompress_safe(object.data(), bytes.data(), static_cast<int>(stored), static_cast<int>(size));
    if (got != size) throw Error(EINVAL, "compressed blob is damaged");
    return bytes;
}

bool Database::contains(std::string_view digest) {
    auto& query = statements_->contains;
    sqlite::Reset reset(query);
    return query.bind_text(1, digest).step();
}

void Database::store(std::string_view digest, std::string_view bytes) {
    if (bytes.size() > LZ4_MAX_INPUT_SIZE) throw Error(EFBIG, "blob is too large for LZ4");
    std::int64_t size = -1;
    auto object = bytes;
    if (bytes.size() >= compression_threshold) {
        size = static_cast<std::int64_t>(bytes.size());
        compressed_.resize(static_cast<std::size_t>(::LZ4_compressBound(static_cast<int>(size))));
        int stored = ::LZ4_compress_default(bytes.data(), compressed_.data(), static_cast<int>(size),
                                            static_cast<int>(compressed_.size()));
        object = {compressed_.data(), static_cast<std::size_t>(stored)};
    }
    statements_->store.bind_text(1, digest).bind(2, size).bind_blob(3, object).bind(4, epoch_).run();
    if (compressed_.size() > kept_buffer) std::string().swap(compressed_);
}

std::int64_t Database::object_count() { return connection_.query_int("SELECT count(*) FROM objects"); }

Json Database::checkpoints() {
    auto& query = statements_->checkpoints;
    sqlite::Reset reset(query);
    auto rows = Json::array();
    while (query.step())
        rows.append(Json::object("id", query.column_int(0), "value", parse_stored(query.column_bytes(1))));
    return rows;
}

void Database::put_checkpoint(JsonView value) {
    sqlite::Transaction transaction(connection_);
    auto id = insert_checkpoint(value);
    transaction.commit();
    epoch_ = own_checkpoint_ = id;
    sync();
}

std::int64_t Database::insert_checkpoint(JsonView value) {
    auto text = value.dump();
    statements_->insert_checkpoint.bind_text(1, text).run();
    auto id = connection_.last_rowid();
    statements_->trim_checkpoints.bind(1, options_.max_checkpoints).run();
    return id;
}

void Database::update_checkpoint(JsonView value) {
    auto text = value.dump();
    statements_->update_checkpoint.bind_text(1, text).bind(2, own_checkpoint_).run();
}

void Database::commit(const ContentCommit& commit) {
    auto tail = commit.tail();
    bool wants_sync = tail.get_or("sync", false);
    sqlite::Transaction transaction(connection_);
    // Blobs that come with a new checkpoint are still of the epoch before it: a collection keeps what it can reach.
    for (const auto& blob : commit.blobs()) store(blob.digest, blob.bytes);
    std::int64_t inserted = 0;
    if (auto checkpoint = tail["checkpoint"]) {
        if (wants_sync || own_checkpoint_ == 0)
            inserted = insert_checkpoint(checkpoint);
        else
            update_checkpoint(checkpoint);
    }
    write_tail(tail);
    transaction.commit();
    if (inserted) epoch_ = own_checkpoint_ = inserted;
    if (wants_sync) sync();
}

// Higher levels have done it with each transaction.
void Database::sync() {
    if (options_.synchronous == "NORMAL") connection_.sync_log();
}

void Database::write_tail(JsonView tail) {
    for (auto name : tail["removed"].elements()) {
        statements_->remove_namespace.bind_text(1, name.as<std::string_view>()).run();
        statements_->remove_once.bind_text(1, name.as<std::string_view>()).run();
    }
    for (auto row : tail["namespaces"].elements()) {
        statements_->put_namespace.bind_text(1, row.get<std::string_view>("namespace"))
            .bind(2, row.get<std::int64_t>("owner"))
            .bind(3, row.get<std::int64_t>("flags"))
            .bind_text(4, row.get<std::string_view>("rootref"))
            .bind(5, row.get<std::int64_t>("rootseq"))
            .run();
    }
    for (auto row : tail["once"].elements()) {
        auto result = row.get<JsonView>("result").dump();
        statements_->put_once.bind_text(1, row.get<std::string_view>("id"))
            .bind(2, row.get<std::int64_t>("seq"))
            .bind_text(3, row.get<std::string_view>("namespace"))
            .bind_text(4, result)
            .bind(5, ::time(nullptr))
            .run();
    }
}

Json Database::namespaces() {
    auto& query = statements_->namespaces;
    sqlite::Reset reset(query);
    auto rows = Json::array();
    while (query.step()) {
        rows.append(Json::object("namespace", query.column_bytes(0), "owner", query.column_int(1), "flags",
                                 query.column_int(2), "rootref", query.column_bytes(3), "rootseq",
                                 query.column_int(4)));
    }
    return rows;
}

std::optional<Json> Database::once(std::string_view id) {
    auto& query = statements_->once;
    sqlite::Reset reset(query);
    if (!query.bind_text(1, id).step()) return std::nullopt;
    return Json::object("seq", query.column_int(0), "result", parse_stored(query.column_bytes(1)));
}

} // namespace flux
