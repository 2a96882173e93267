// Garbage collection of blobs by epochs (kvs-content.md 10.2), in the steps of the `gc-info`, `mark`, `sweep` methods.
#pragma once

#include "sqlite.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace flux {

class Collector {
public:
    explicit Collector(sqlite::Connection& connection);

    /// Largest rowid, 0 when there are no blobs.
    std::int64_t high_water();
    /// Number of blobs of older epochs; reads them all.
    std::int64_t candidates(std::int64_t epoch);

    /// Lift blobs to `epoch`, in one transaction. Returns how many of them exist.
    int mark(std::int64_t epoch, const std::vector<std::string_view>& digests);

    class Swept {
    public:
        std::int64_t deleted = 0;
        std::int64_t cursor = 0;
    };
    /// Delete blobs of older epochs with rowids above `cursor`, up to `high_water`: at most `delete_cap` of at most
    /// `window` rows. The file gives back some of its free pages with each step.
    Swept sweep(std::int64_t epoch, std::int64_t cursor, std::int64_t high_water, std::int64_t delete_cap,
                std::int64_t window);

private:
    sqlite::Connection& connection_;
    sqlite::Statement mark_;
    sqlite::Statement find_;
    sqlite::Statement delete_;
};

} // namespace flux
