// SQLite with ownership in the types and failures as Error. One connection, one thread.
#pragma once

#include <flux/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace flux::sqlite {

class Statement;

class Connection {
public:
    /// Open or create for reading and writing. \throws Error `cannot open PATH: why`
    explicit Connection(const std::string& path);

    sqlite3* raw() const noexcept { return raw_.get(); }
    void execute(const char* sql);
    /// Run a query for its first column of its first row, empty when there is none.
    std::string query_text(const char* sql);
    std::int64_t query_int(const char* sql);
    /// Have disk space for a file of this size. Grows in steps of it from then on.
    void reserve(std::int64_t bytes);
    /// Write-ahead log to the disk.
    void sync_log();
    /// Whether no transaction is open.
    bool autocommit() const noexcept;
    std::int64_t last_rowid() const noexcept;
    /// Rows touched by the last insert, update or delete.
    int changes() const noexcept;
    /// What went wrong last: SQLite's words, `MESSAGE(EXTENDED CODE)`.
    Error last_error() const;

private:
    struct Closer {
        void operator()(sqlite3* raw) const noexcept;
    };
    std::unique_ptr<sqlite3, Closer> raw_;
};

/// A prepared statement. Bound views must stay valid until the statement is reset.
class Statement {
public:
    Statement(Connection& connection, const char* sql);

    Statement& bind(int index, std::int64_t value);
    Statement& bind_text(int index, std::string_view value);
    /// Empty bytes are bound as NULL.
    Statement& bind_blob(int index, std::string_view value);

    /// True: there is a row to read. False: done.
    bool step();
    /// Run to the end and reset.
    void run();
    void reset() noexcept;

    std::int64_t column_int(int index) const noexcept;
    /// Bytes of a text or blob, valid until the next step or reset.
    std::string_view column_bytes(int index) const noexcept;

private:
    struct Finalizer {
        void operator()(sqlite3_stmt* raw) const noexcept;
    };
    void check(int code) const;
    Connection& connection_;
    std::unique_ptr<sqlite3_stmt, Finalizer> raw_;
};

/// Rolled back unless it is committed.
class Transaction {
public:
    explicit Transaction(Connection& connection) : connection_(connection) { connection_.execute("BEGIN"); }
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit() { connection_.execute("COMMIT"); }

private:
    Connection& connection_;
};

/// Resets a statement when a query with it is over.
class Reset {
public:
    explicit Reset(Statement& statement) noexcept : statement_(statement) {}
    ~Reset() { statement_.reset(); }
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;

private:
    Statement& statement_;
};

} // namespace flux::sqlite
