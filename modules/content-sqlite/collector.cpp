#include "collector.hpp"

#include <algorithm>

namespace flux {
namespace {

// Bounds of one sweep, whatever its caller asks for: nothing else is served meanwhile.
constexpr std::int64_t max_delete = 8192;
constexpr std::int64_t max_window = 524288;

} // namespace

Collector::Collector(sqlite::Connection& connection)
    : connection_(connection),
      mark_(connection, "UPDATE objects SET epoch = max(epoch, ?1) WHERE hash = ?2"),
      find_(connection, "SELECT rowid FROM objects WHERE epoch < ?1 AND rowid > ?2 AND rowid <= ?3"
                        " ORDER BY rowid LIMIT ?4"),
      delete_(connection, "DELETE FROM objects WHERE rowid = ?1") {}

std::int64_t Collector::high_water() { return connection_.query_int("SELECT max(rowid) FROM objects"); }

std::int64_t Collector::candidates(std::int64_t epoch) {
    sqlite::Statement count(connection_, "SELECT count(*) FROM objects WHERE epoch < ?1");
    return count.bind(1, epoch).step() ? count.column_int(0) : 0;
}

int Collector::mark(std::int64_t epoch, const std::vector<std::string_view>& digests) {
    sqlite::Transaction transaction(connection_);
    int marked = 0;
    for (auto digest : digests) {
        mark_.bind(1, epoch).bind_text(2, digest).run();
        marked += connection_.changes();
    }
    transaction.commit();
    return marked;
}

Collector::Swept Collector::sweep(std::int64_t epoch, std::int64_t cursor, std::int64_t high_water,
                                  std::int64_t delete_cap, std::int64_t window) {
    delete_cap = std::min(delete_cap, max_delete);
    auto end = high_water - cursor > std::min(window, max_window) ? cursor + std::min(window, max_window) : high_water;
    std::vector<std::int64_t> rows;
    {
        sqlite::Reset reset(find_);
        find_.bind(1, epoch).bind(2, cursor).bind(3, end).bind(4, delete_cap);
        while (find_.step()) rows.push_back(find_.column_int(0));
    }
    Swept swept;
    swept.deleted = static_cast<std::int64_t>(rows.size());
    swept.cursor = swept.deleted == delete_cap ? rows.back() : end;
    if (rows.empty()) return swept;
    sqlite::Transaction transaction(connection_);
    for (auto row : rows) delete_.bind(1, row).run();
    transaction.commit();
    // Costs nothing in a database that does not keep track of its free pages.
    connection_.execute("PRAGMA incremental_vacuum(1024)");
    return swept;
}

} // namespace flux
