#include "line_buffer.hpp"

#include <flux/error.hpp>

#include <cerrno>

namespace flux::job_info {

void LineBuffer::feed(std::string_view piece) {
    buffer_.erase(0, begin_);
    begin_ = 0;
    if (buffer_.size() > max_line && piece.find('\n') == piece.npos)
        throw Error(EINVAL, "a line of the eventlog is too long");
    buffer_ += piece;
}

std::optional<std::string> LineBuffer::next() {
    auto end = buffer_.find('\n', begin_);
    if (end == buffer_.npos) return std::nullopt;
    auto line = buffer_.substr(begin_, end + 1 - begin_);
    begin_ = end + 1;
    return line;
}

} // namespace flux::job_info
