#include <algorithm>
#include <cmath>
#include <cmd/output/columns.hpp>
#include <cmd/output/convert.hpp>
#include <cmd/output/listing.hpp>
#include <numeric>
#include <tuple>

namespace flux::output {

namespace {

Value field_value(const Format::Field& field, const Row& row) {
    auto value = row(field.name);
    return field.conversion ? convert(value, field.conversion, field.pattern) : value;
}

bool is_empty(const Format::Field& field, const Row& row) {
    auto spec = field.spec;
    spec.width = 0;
    spec.dash_for_empty = spec.mark_cut = false;
    return is_empty_text(format_value(spec, field_value(field, row)));
}

/// Make the column as wide as its widest value.
void widen(Format::Field& field, std::span<const Row> rows, bool with_header) {
    auto whole = field.spec;
    whole.width = 0;
    whole.mark_cut = false;
    if (whole.for_text()) whole.precision.reset();
    auto& spec = field.spec;
    if (with_header) spec.width = std::max(spec.width, columns(field.heading));
    for (const auto& row : rows)
        spec.width = std::max(spec.width, columns(format_value(whole, field_value(field, row))));
    if (spec.for_text() && spec.precision) spec.precision = std::max(*spec.precision, spec.width);
}

/// A value by which rows are ordered: kind, number, text.
using SortValue = std::tuple<int, double, std::string>;

SortValue sort_value(const Value& value) {
    auto text = to_text(value);
    if (text.empty() || text == "-") return {0, 0, {}};
    const auto number = to_number(value);
    if (number && !std::isnan(*number)) return {1, *number, {}};
    return {2, 0, std::move(text)};
}

} // namespace

Listing::Listing(Format format, std::span<const Row> rows, bool with_header) : format_(std::move(format)) {
    std::erase_if(format_.fields, [&](const Format::Field& field) {
        const auto empty = [&](const Row& row) { return is_empty(field, row); };
        return field.collapse && std::all_of(rows.begin(), rows.end(), empty);
    });
    for (auto& field : format_.fields)
        if (field.widen) widen(field, rows, with_header);
}

std::string Listing::header() const {
    std::string text;
    for (const auto& field : format_.fields)
        text += field.before + pad(field.heading, field.spec.width, field.spec.align ? field.spec.align : '<');
    return text + format_.tail;
}

std::string Listing::line(const Row& row) const {
    std::string text;
    for (const auto& field : format_.fields) text += field.before + format_value(field.spec, field_value(field, row));
    return text + format_.tail;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n\v\f") == line.npos; }

std::vector<std::size_t> sorted(std::span<const Row> rows, std::span<const SortKey> keys) {
    std::vector<std::vector<SortValue>> values(rows.size());
    for (std::size_t index = 0; index < rows.size(); ++index)
        for (const auto& key : keys) values[index].push_back(sort_value(rows[index](key.name)));
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
        for (std::size_t index = 0; index < keys.size(); ++index) {
            const auto &a = values[left][index], &b = values[right][index];
            if (a == b) continue;
            return keys[index].descending ? b < a : a < b;
        }
        return false;
    });
    return order;
}

} // namespace flux::output
