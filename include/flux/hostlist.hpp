// Ordered lists of host names and their compressed strings (RFC 29).
#pragma once

#include <flux/json.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux {

/// A list of host names that keeps order and duplicates: `foo[1-3,7],bar`. Consecutive numbers are kept as one run, so
/// a cluster of uniform names costs a few words whatever its size.
class Hostlist {
public:
    /// What one bracketed range, and what a whole list may name at most: a short text must not cost its reader
    /// unbounded memory when it is expanded.
    static constexpr std::size_t max_range = std::size_t{1} << 20;
    static constexpr std::size_t max_hosts = std::size_t{1} << 22;
    static constexpr const char* json_name = "hostlist";

    class Iterator;
    using value_type = std::string;
    using const_iterator = Iterator;

    Hostlist() = default;
    /// Read a list separated by commas, blanks or tabs. \throws Error EINVAL (syntax), ERANGE (too many hosts).
    static Hostlist parse(std::string_view text);
    /// As parse(), for texts that may well be something else.
    static std::optional<Hostlist> try_parse(std::string_view text);

    /// The compressed string; the empty list is the empty string.
    std::string encode() const;

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    /// The host at a position. \throws Error ENOENT past the end.
    std::string at(std::size_t position) const;
    /// Position of the first entry with this name; nothing when there is none.
    std::optional<std::size_t> find(std::string_view host) const;
    bool contains(std::string_view host) const { return find(host).has_value(); }

    /// Add one host by its plain name; brackets and commas in it have no meaning.
    void push_back(std::string_view host);
    /// Add all of another list.
    void append(const Hostlist& other);
    /// Remove, for each host of `other`, its first occurrence here; returns the number removed.
    std::size_t remove(const Hostlist& other);

    /// Order by prefix, then by length of the number, then by number; duplicates stay.
    void sort() { arrange(true); }
    /// As sort(), without duplicates.
    void sort_unique() { arrange(false); }

    /// Same names in the same order.
    friend bool operator==(const Hostlist& a, const Hostlist& b);

    /// All host names in order.
    Iterator begin() const noexcept;
    Iterator end() const noexcept;

private:
    /// Hosts `prefix + number + suffix` for lo <= number <= hi, or the one host `prefix`.
    struct Run {
        std::string prefix;
        std::string suffix;
        std::uint64_t lo = 0;
        std::uint64_t hi = 0;
        unsigned width = 0; // digits to pad to; 0 when `lo` needs no padding
        bool numbered = false;

        std::size_t size() const noexcept { return hi - lo + 1; }
        std::string name(std::size_t offset) const;
        std::optional<std::size_t> offset_of(std::string_view host) const;
        bool joins(const Run& next) const noexcept;
        bool operator==(const Run&) const = default;
    };

    static Run run_of_host(std::string_view host);
    static void add_pieces(const Run& run, std::vector<Run>& pieces);
    void parse_token(std::string_view token);
    void add(Run run);
    void arrange(bool keep_duplicates);
    void remove_at(std::size_t run, std::size_t offset);

    std::vector<Run> runs_;
    std::size_t size_ = 0;
};

class Hostlist::Iterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string*;
    using reference = std::string;

    Iterator() = default;
    std::string operator*() const { return run_->name(offset_); }
    Iterator& operator++() noexcept {
        if (++offset_ == run_->size()) {
            ++run_;
            offset_ = 0;
        }
        return *this;
    }
    Iterator operator++(int) noexcept {
        auto old = *this;
        ++*this;
        return old;
    }
    bool operator==(const Iterator&) const = default;

private:
    friend class Hostlist;
    explicit Iterator(const Run* run) noexcept : run_(run) {}
    const Run* run_ = nullptr;
    std::size_t offset_ = 0;
};

inline Hostlist::Iterator Hostlist::begin() const noexcept { return Iterator(runs_.data()); }
inline Hostlist::Iterator Hostlist::end() const noexcept { return Iterator(runs_.data() + runs_.size()); }

/// For `JsonView::get<Hostlist>`: a string that parses.
bool json_decode(JsonView value, Hostlist& out);

} // namespace flux
