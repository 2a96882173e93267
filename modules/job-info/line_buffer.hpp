// Cuts a text that comes in pieces into lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flux::job_info {

class LineBuffer {
public:
    /// An unfinished line longer than this is an error: what is read is no eventlog.
    static constexpr std::size_t max_line = std::size_t{16} << 20;

    /// \throws Error EINVAL when a line is too long
    void feed(std::string_view piece);
    /// The next whole line with its newline.
    std::optional<std::string> next();

private:
    std::string buffer_;
    std::size_t begin_ = 0;
};

} // namespace flux::job_info
