// Texts that many jobs share (names, hosts, directories) are kept once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace flux::job_list {

class TextPool;

/// A text of a pool, or none.
class Text {
public:
    Text() = default;
    Text(const Text& other) noexcept;
    Text(Text&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    Text& operator=(Text other) noexcept {
        std::swap(entry_, other.entry_);
        return *this;
    }
    ~Text();

    explicit operator bool() const noexcept { return entry_ != nullptr; }
    /// Empty when there is none.
    std::string_view view() const noexcept;

private:
    friend class TextPool;
    struct Count {
        TextPool* pool;
        std::size_t uses;
    };
    using Entry = std::pair<const std::string, Count>;
    explicit Text(Entry* entry) noexcept : entry_(entry) {}
    Entry* entry_ = nullptr;
};

/// Must outlive its texts.
class TextPool {
public:
    TextPool() = default;
    TextPool(const TextPool&) = delete;
    TextPool& operator=(const TextPool&) = delete;

    Text intern(std::string_view text);
    std::size_t size() const noexcept { return texts_.size(); }

private:
    friend class Text;
    std::unordered_map<std::string, Text::Count> texts_;
};

} // namespace flux::job_list
