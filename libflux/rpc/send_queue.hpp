// What a connection has to send: frames in order. Small ones share a buffer; a large payload is not copied.
#pragma once

#include <flux/message.hpp>

#include <deque>
#include <string>
#include <string_view>

namespace flux {

class SendQueue {
public:
    /// \return the size of its frame
    std::size_t add(const Message& message) {
        const auto before = size_;
        auto payload = message.payload.bytes();
        if (payload.size() < own_piece) {
            auto& text = open_piece().text;
            const auto length = text.size();
            encode_frame(message, text);
            size_ += text.size() - length;
        } else {
            std::string after;
            auto& text = open_piece().text;
            const auto length = text.size();
            encode_frame_around(message, text, after);
            size_ += text.size() - length + payload.size() + after.size();
            pieces_.emplace_back().payload = message.payload;
            pieces_.emplace_back().text = std::move(after);
        }
        return size_ - before;
    }
    bool empty() const noexcept { return size_ == 0; }
    /// Bytes in it.
    std::size_t size() const noexcept { return size_; }
    /// The next bytes to send, some of all.
    std::string_view front() const { return pieces_.front().bytes().substr(sent_); }
    /// So many of front() are sent.
    void remove(std::size_t count) {
        sent_ += count;
        size_ -= count;
        if (sent_ < pieces_.front().bytes().size()) return;
        sent_ = 0;
        // One buffer is kept for what comes next.
        if (pieces_.size() == 1 && pieces_.front().text.capacity() <= buffer_limit)
            pieces_.front().text.clear();
        else
            pieces_.pop_front();
    }
    void clear() noexcept {
        pieces_.clear();
        sent_ = size_ = 0;
    }

private:
    // Payloads from this size on are pieces of their own.
    static constexpr std::size_t own_piece = 32 * 1024;
    // A buffer that has so much is closed.
    static constexpr std::size_t buffer_limit = 256 * 1024;

    struct Piece {
        std::string text;
        Payload payload; // or this
        std::string_view bytes() const { return payload ? payload.bytes() : std::string_view(text); }
    };
    Piece& open_piece() {
        if (pieces_.empty() || pieces_.back().payload || pieces_.back().text.size() >= buffer_limit)
            return pieces_.emplace_back();
        return pieces_.back();
    }

    std::deque<Piece> pieces_;
    std::size_t sent_ = 0; // of the first
    std::size_t size_ = 0;
};

} // namespace flux
