// A listing: rows printed by a format. What the sentinels ask for is decided over all rows first.
#pragma once

#include <cmd/output/format.hpp>
#include <cmd/output/value.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux::output {

/// Gives the value of a field of one item.
using Row = std::function<Value(std::string_view name)>;

/// A format whose columns are settled.
class Listing {
public:
    /// \param with_header  whether columns that grow have to hold their headings.
    Listing(Format format, std::span<const Row> rows, bool with_header);

    std::string header() const;
    /// One item, without newline. \throws Error EINVAL when the format does not fit a value.
    std::string line(const Row& row) const;

private:
    Format format_;
};

/// Lines of white space only are not printed.
bool is_blank(std::string_view line);

/// The order of the rows by these keys, as indices: what is not set before numbers before text; equal rows keep their
/// order.
std::vector<std::size_t> sorted(std::span<const Row> rows, std::span<const SortKey> keys);

} // namespace flux::output
