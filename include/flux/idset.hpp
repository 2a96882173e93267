// Sets of small non-negative integers (ranks, cores, task ids) and their strings (RFC 22).
#pragma once

#include <flux/json.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux {

/// A set of ids, used like a bitset and kept as sorted disjoint ranges: a million consecutive ids cost eight bytes, and
/// every operation costs at most the number of ranges, never the number of ids.
///
/// A short text can name two billion ids: whoever loops over a set from outside compares `count()` or `last()` with
/// what it can stand first.
class Idset {
public:
    using Id = std::uint32_t;
    static constexpr Id max_id = 2147483647;
    static constexpr const char* json_name = "idset";

    /// The ids `first` to `last`, both included.
    struct Range {
        Id first;
        Id last;
        Id count() const noexcept { return last - first + 1; }
        auto operator<=>(const Range&) const = default;
    };
    class Iterator;
    using value_type = Id;
    using const_iterator = Iterator;

    Idset() = default;
    Idset(std::initializer_list<Id> ids);
    /// The ids `first` to `last`, both included.
    static Idset of_range(Id first, Id last);
    /// The ids 0 to `count - 1`.
    static Idset below(Id count);

    /// Read `0-3,7` or `[0-3,7]`; ids must ascend. \throws Error EINVAL saying what is wrong with which part.
    static Idset parse(std::string_view text);
    /// As parse(), for texts that may well be something else.
    static std::optional<Idset> try_parse(std::string_view text);

    /// `0-3,7`: the form of payloads and files; the empty set is the empty string.
    std::string encode() const;
    /// `[0-3,7]`: the form for people; brackets only around two ids or more.
    std::string encode_with_brackets() const;
    /// `0,1,2,3,7`: every id listed.
    std::string encode_as_list() const;

    bool empty() const noexcept { return ranges_.empty(); }
    /// Number of ids.
    std::size_t count() const noexcept;
    bool test(Id id) const noexcept;

    /// \throws Error EINVAL above max_id (set) or when `last < first`.
    void set(Id id) { set(id, id); }
    void set(Id first, Id last);
    void clear(Id id) { clear(id, id); }
    void clear(Id first, Id last);
    void clear() noexcept { ranges_.clear(); }

    std::optional<Id> first() const noexcept;
    std::optional<Id> last() const noexcept;
    /// The smallest id above / the largest id below `id`, which need not be a member.
    std::optional<Id> next(Id id) const noexcept;
    std::optional<Id> prev(Id id) const noexcept;
    /// The id at a position in ascending order; nothing when there are not that many.
    std::optional<Id> nth(std::size_t position) const noexcept;
    /// The position of a member in ascending order; nothing when it is no member.
    std::optional<std::size_t> position(Id id) const noexcept;
    /// The `count` smallest ids, or all when there are fewer.
    Idset lowest(std::size_t count) const;

    Idset& operator|=(const Idset& other);
    Idset& operator&=(const Idset& other);
    Idset& operator-=(const Idset& other);
    friend Idset operator|(const Idset& a, const Idset& b);
    friend Idset operator&(const Idset& a, const Idset& b);
    friend Idset operator-(const Idset& a, const Idset& b);
    bool operator==(const Idset&) const = default;

    /// Whether every id of `other` is a member.
    bool includes(const Idset& other) const noexcept;
    /// Whether the sets share an id.
    bool intersects(const Idset& other) const noexcept;

    /// All ids in ascending order.
    Iterator begin() const noexcept;
    Iterator end() const noexcept;
    /// The runs of consecutive ids in ascending order, as long as possible.
    std::span<const Range> ranges() const& noexcept { return ranges_; }
    void ranges() const&& = delete; // a loop over the ranges of a temporary would outlive them

private:
    using Ranges = std::vector<Range>;
    /// The first range that does not end below `id`.
    Ranges::const_iterator at_or_after(Id id) const noexcept;

    Ranges ranges_; // ascending, with a gap between neighbours
};

class Idset::Iterator {
public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Id;
    using difference_type = std::ptrdiff_t;
    using pointer = const Id*;
    using reference = Id;

    Iterator() = default;
    Iterator(const Range* range, const Range* end) noexcept
        : range_(range), id_(range == end ? 0 : range->first), end_(end) {}
    Id operator*() const noexcept { return id_; }
    Iterator& operator++() noexcept {
        if (id_ != range_->last)
            ++id_;
        else
            *this = Iterator(range_ + 1, end_);
        return *this;
    }
    Iterator operator++(int) noexcept {
        auto old = *this;
        ++*this;
        return old;
    }
    bool operator==(const Iterator&) const = default;

private:
    const Range* range_ = nullptr;
    Id id_ = 0;
    const Range* end_ = nullptr;
};

inline Idset::Iterator Idset::begin() const noexcept { return {ranges_.data(), ranges_.data() + ranges_.size()}; }
inline Idset::Iterator Idset::end() const noexcept {
    return {ranges_.data() + ranges_.size(), ranges_.data() + ranges_.size()};
}

/// For `JsonView::get<Idset>`: a string that parses.
bool json_decode(JsonView value, Idset& out);

} // namespace flux
