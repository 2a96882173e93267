// The format language of listings (`-o, --format`): text with `{field!conversion:spec}`, sentinels before fields that
// let columns vanish or grow, and a `sort:` prefix.
#pragma once

#include <cmd/output/spec.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux::output {

/// The headings of a command's fields by name; nothing for names that it does not have.
using Headings = std::function<std::optional<std::string>(std::string_view name)>;

struct SortKey {
    std::string name;
    bool descending = false;

    bool operator==(const SortKey&) const = default;
};

/// `a,-b`; empty keys are ignored. \throws Error EINVAL `Invalid sort key: X`
std::vector<SortKey> parse_sort_keys(std::string_view text, const Headings& headings);

struct Format {
    struct Field {
        std::string before{}; // literal text since the previous field
        std::string name{};
        std::string heading{};
        char conversion = 0;
        std::string pattern{}; // of !d
        Spec spec{};
        bool collapse = false; // vanish when empty in all rows
        bool widen = false;    // be as wide as the widest value
    };
    std::vector<Field> fields{};
    std::string tail{}; // literal text after the last field
    std::vector<SortKey> sort_keys{};

    /// \throws Error EINVAL for text that is no format and for fields without heading.
    static Format parse(std::string_view text, const Headings& headings);
    /// Names of all fields that are needed for printing and sorting, each once.
    std::vector<std::string> names() const;
    /// The same format without some fields and the text before each of them.
    Format without(std::span<const std::string_view> names) const;
};

} // namespace flux::output
