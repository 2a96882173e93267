// The PMI-1 simple wire protocol (RFC 13) as text: lines of `key=value` words, their limits and result codes.
// Everything that comes from a peer is bounded here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flux::pmi {

/// Result codes of the protocol and of the PMI-1 and PMI-2 C interfaces.
enum Code : int {
    success = 0,
    fail = -1,
    invalid_key = 4,
    invalid_key_length = 5,
    invalid_value_length = 7,
    invalid_length = 8,
};

/// `INVALID_KEY` and the like; `unknown` for what the protocol does not define.
const char* code_name(int code) noexcept;

/// Maxima that our server announces; each counts a terminating NUL.
struct Limits {
    std::size_t kvsname = 64;
    std::size_t key = 64;
    std::size_t value = 1024;
};

/// Longest line taken from a peer. A regular one has less than 1300 bytes; those of a spawn command carry paths and
/// arguments.
inline constexpr std::size_t default_line_max = 8192;

/// One line. Words end at a blank; `value=`, `msg=` and `error_msg=` take the rest of the line. Words that are not
/// asked for are ignored, of equal keys the first counts.
class Line {
public:
    /// \param text  without its newline; must outlive the object.
    explicit Line(std::string_view text) noexcept : text_(text) {}

    std::string_view text() const noexcept { return text_; }
    std::optional<std::string_view> find(std::string_view key) const noexcept;
    /// The value as a decimal integer; nothing when it is absent or something else.
    std::optional<int> find_int(std::string_view key) const noexcept;
    /// Required value. \throws Error EPROTO naming the key and the line.
    std::string_view get(std::string_view key) const;
    int get_int(std::string_view key) const;

private:
    std::string_view text_;
};

/// Cuts a byte stream into lines.
class LineBuffer {
public:
    explicit LineBuffer(std::size_t line_max = default_line_max) : line_max_(line_max) {}

    void set_line_max(std::size_t line_max) noexcept { line_max_ = line_max; }
    void append(std::string_view bytes) { bytes_ += bytes; }
    /// The next whole line without its newline. \throws Error EPROTO when a line is too long.
    std::optional<std::string> next();

private:
    std::string bytes_;
    std::size_t line_max_;
};

} // namespace flux::pmi
