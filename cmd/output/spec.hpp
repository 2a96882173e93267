// The format spec of a field, as Python's `str.format` has it, with two suffixes of Flux:
//   [[fill]align][sign]["z"]["#"]["0"][width][grouping]["." precision][type]["h"]["+"]
#pragma once

#include <cmd/output/value.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flux::output {

struct Spec {
    std::string fill{}; // one code point; empty: not given
    char align = 0;     // one of < > ^ =
    char sign = 0;      // one of + - and blank
    bool no_negative_zero = false;
    bool alternate = false;
    bool zero_padded = false;
    std::size_t width = 0;
    char grouping = 0; // , or _
    std::optional<std::size_t> precision{};
    char type = 0;
    bool plain = true;           // nothing but suffixes was given
    bool dash_for_empty = false; // suffix h
    bool mark_cut = false;       // suffix +

    /// Whether texts are meant: no type letter but `s`.
    bool for_text() const noexcept { return type == 0 || type == 's'; }
};

/// \throws Error EINVAL
Spec parse_spec(std::string_view text);

/// \throws Error EINVAL when the type letter does not fit the value.
std::string format_value(const Spec& spec, const Value& value);

} // namespace flux::output
