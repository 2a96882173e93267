#include "sqlite.hpp"

#include <fmt/core.h>
#include <sqlite3.h>

#include <cerrno>
#include <limits>

namespace flux::sqlite {
namespace {

int errnum_of(int code, int system_errno) {
    switch (code & 0xff) {
    case SQLITE_IOERR: return system_errno == EDQUOT || system_errno == ENOSPC ? ENOSPC : EIO;
    case SQLITE_NOMEM: return ENOMEM;
    case SQLITE_ABORT:
    case SQLITE_PERM:
    case SQLITE_READONLY: return EPERM;
    case SQLITE_TOOBIG: return EFBIG;
    case SQLITE_FULL: return ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return EBUSY;
    case SQLITE_CANTOPEN: return system_errno > 0 ? system_errno : EINVAL;
    default: return EINVAL;
    }
}

} // namespace

void Connection::Closer::operator()(sqlite3* raw) const noexcept { ::sqlite3_close(raw); }

Connection::Connection(const std::string& path) {
    sqlite3* raw = nullptr;
    int code = ::sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                 nullptr);
    raw_.reset(raw);
    if (!raw) throw Error(ENOMEM);
    if (code != SQLITE_OK) {
        int system_errno = ::sqlite3_system_errno(raw);
        throw Error(errnum_of(code, system_errno),
                    fmt::format("cannot open {}: {}", path,
                                system_errno ? errno_text(system_errno) : std::string(::sqlite3_errmsg(raw))));
    }
    ::sqlite3_extended_result_codes(raw, 1);
}

Error Connection::last_error() const {
    int code = ::sqlite3_extended_errcode(raw());
    return Error(errnum_of(code, ::sqlite3_system_errno(raw())), fmt::format("{}({})", ::sqlite3_errmsg(raw()), code));
}

void Connection::execute(const char* sql) {
    if (::sqlite3_exec(raw(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw last_error();
}

std::string Connection::query_text(const char* sql) {
    Statement statement(*this, sql);
    return statement.step() ? std::string(statement.column_bytes(0)) : std::string();
}

std::int64_t Connection::query_int(const char* sql) {
    Statement statement(*this, sql);
    return statement.step() ? statement.column_int(0) : 0;
}

void Connection::reserve(std::int64_t bytes) {
    if (bytes > std::numeric_limits<int>::max())
        throw Error(EINVAL, fmt::format("cannot reserve {} bytes: at most {}", bytes, std::numeric_limits<int>::max()));
    int chunk = static_cast<int>(bytes);
    // Emptying the log cuts the file to whole chunks.
    ::sqlite3_file_control(raw(), "main", SQLITE_FCNTL_CHUNK_SIZE, &chunk);
    if (::sqlite3_file_control(raw(), "main", SQLITE_FCNTL_SIZE_HINT, &bytes) != SQLITE_OK)
        throw Error(ENOSPC, fmt::format("cannot reserve {} bytes", bytes));
}

void Connection::sync_log() {
    sqlite3_file* log = nullptr;
    ::sqlite3_file_control(raw(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log && log->pMethods && log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) != SQLITE_OK)
        throw Error(EIO, "cannot sync the write-ahead log");
}

bool Connection::autocommit() const noexcept { return ::sqlite3_get_autocommit(raw()); }
std::int64_t Connection::last_rowid() const noexcept { return ::sqlite3_last_insert_rowid(raw()); }
int Connection::changes() const noexcept { return ::sqlite3_changes(raw()); }

Transaction::~Transaction() {
    // Some failures have rolled it back already.
    if (connection_.autocommit()) return;
    try {
        connection_.execute("ROLLBACK");
    } catch (const Error&) {
        // Nothing is left to undo then; the error that brought us here says what is wrong.
    }
}

void Statement::Finalizer::operator()(sqlite3_stmt* raw) const noexcept { ::sqlite3_finalize(raw); }

Statement::Statement(Connection& connection, const char* sql) : connection_(connection) {
    sqlite3_stmt* raw = nullptr;
    check(::sqlite3_prepare_v3(connection.raw(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr));
    raw_.reset(raw);
}

void Statement::check(int code) const {
    if (code != SQLITE_OK) throw connection_.last_error();
}

Statement& Statement::bind(int index, std::int64_t value) {
    check(::sqlite3_bind_int64(raw_.get(), index, value));
    return *this;
}

Statement& Statement::bind_text(int index, std::string_view value) {
    // A null pointer would bind NULL.
    const char* data = value.data() ? value.data() : "";
    check(::sqlite3_bind_text64(raw_.get(), index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
    return *this;
}

Statement& Statement::bind_blob(int index, std::string_view value) {
    const char* data = value.empty() ? nullptr : value.data();
    check(::sqlite3_bind_blob64(raw_.get(), index, data, value.size(), SQLITE_STATIC));
    return *this;
}

bool Statement::step() {
    int code = ::sqlite3_step(raw_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    auto error = connection_.last_error();
    reset();
    throw error;
}

void Statement::run() {
    while (step()) {}
    reset();
}

void Statement::reset() noexcept { ::sqlite3_reset(raw_.get()); }

std::int64_t Statement::column_int(int index) const noexcept { return ::sqlite3_column_int64(raw_.get(), index); }

std::string_view Statement::column_bytes(int index) const noexcept {
    auto* data = static_cast<const char*>(::sqlite3_column_blob(raw_.get(), index));
    return {data, data ? static_cast<std::size_t>(::sqlite3_column_bytes(raw_.get(), index)) : 0};
}

} // namespace flux::sqlite
