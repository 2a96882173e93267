#include <flux/idset.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace flux {
namespace {

/// Reads an id off the front of `text`: decimal digits without leading zero. False when there is none.
bool take_id(std::string_view& text, std::uint64_t& id) {
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), id);
    auto length = static_cast<std::size_t>(end - text.data());
    if (length == 0 || (text.front() == '0' && length > 1)) return false;
    if (status != std::errc()) id = UINT64_MAX;
    text.remove_prefix(length);
    return true;
}

Idset::Range parse_range(std::string_view text) {
    auto rest = text;
    std::uint64_t first;
    bool good = take_id(rest, first);
    auto last = first;
    if (good && !rest.empty()) {
        good = rest.front() == '-';
        rest.remove_prefix(1);
        good = good && take_id(rest, last) && rest.empty();
        if (good && last <= first) throw Error(EINVAL, fmt::format("range '{}' is out of order", text));
    }
    if (!good) throw Error(EINVAL, fmt::format("error parsing range '{}'", text));
    if (last > Idset::max_id) throw Error(EINVAL, "set universe size would exceed maximum");
    return {static_cast<Idset::Id>(first), static_cast<Idset::Id>(last)};
}

} // namespace

Idset::Idset(std::initializer_list<Id> ids) {
    for (auto id : ids) set(id);
}

Idset Idset::of_range(Id first, Id last) {
    Idset result;
    result.set(first, last);
    return result;
}

Idset Idset::below(Id count) { return count == 0 ? Idset() : of_range(0, count - 1); }

Idset Idset::parse(std::string_view text) {
    auto body = text;
    if (body.starts_with('[') && body.ends_with(']')) body = body.substr(1, body.size() - 2);
    if (body.find_first_of("[]") != body.npos) throw Error(EINVAL, "mismatched or nested brackets");
    Idset result;
    while (!body.empty()) {
        auto comma = std::min(body.find(','), body.size());
        auto element = body.substr(0, comma);
        body.remove_prefix(std::min(comma + 1, body.size()));
        if (element.empty()) continue;
        auto range = parse_range(element);
        if (!result.empty() && range.first <= result.ranges_.back().last)
            throw Error(EINVAL, fmt::format("range '{}' is out of order", element));
        result.set(range.first, range.last);
    }
    return result;
}

std::optional<Idset> Idset::try_parse(std::string_view text) {
    try {
        return parse(text);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::string Idset::encode() const {
    std::string text;
    for (auto range : ranges_) {
        fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ",", range.first);
        if (range.last != range.first) fmt::format_to(std::back_inserter(text), "-{}", range.last);
    }
    return text;
}

std::string Idset::encode_with_brackets() const {
    bool several = ranges_.size() > 1 || (!empty() && ranges_.front().count() > 1);
    return several ? '[' + encode() + ']' : encode();
}

std::string Idset::encode_as_list() const {
    std::string text;
    for (auto id : *this) fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ",", id);
    return text;
}

std::size_t Idset::count() const noexcept {
    std::size_t sum = 0;
    for (auto range : ranges_) sum += range.count();
    return sum;
}

Idset::Ranges::const_iterator Idset::at_or_after(Id id) const noexcept {
    return std::lower_bound(ranges_.begin(), ranges_.end(), id, [](Range range, Id key) { return range.last < key; });
}

bool Idset::test(Id id) const noexcept {
    auto range = at_or_after(id);
    return range != ranges_.end() && range->first <= id;
}

void Idset::set(Id first, Id last) {
    if (last < first || last > max_id) throw Error(EINVAL, fmt::format("idset: bad range {}-{}", first, last));
    // Every range that overlaps or touches the new one melts into it.
    auto from = at_or_after(first == 0 ? 0 : first - 1);
    if (from == ranges_.end() || from->first > last + 1) {
        ranges_.insert(from, {first, last});
        return;
    }
    auto to = std::find_if(from, ranges_.cend(), [last](Range range) { return range.first > last + 1; });
    Range melted{std::min(first, from->first), std::max(last, std::prev(to)->last)};
    *ranges_.erase(from, from) = melted;
    ranges_.erase(std::next(from), to);
}

void Idset::clear(Id first, Id last) {
    if (last < first) throw Error(EINVAL, fmt::format("idset: bad range {}-{}", first, last));
    auto from = at_or_after(first);
    if (from == ranges_.end() || from->first > last) return;
    auto to = std::find_if(from, ranges_.cend(), [last](Range range) { return range.first > last; });
    // At most one piece is left on either side.
    auto low = *from;
    auto high = *std::prev(to);
    auto gap = ranges_.erase(from, to);
    if (high.last > last) gap = ranges_.insert(gap, {last + 1, high.last});
    if (low.first < first) ranges_.insert(gap, {low.first, first - 1});
}

std::optional<Idset::Id> Idset::first() const noexcept {
    if (empty()) return std::nullopt;
    return ranges_.front().first;
}

std::optional<Idset::Id> Idset::last() const noexcept {
    if (empty()) return std::nullopt;
    return ranges_.back().last;
}

std::optional<Idset::Id> Idset::next(Id id) const noexcept {
    if (id >= max_id) return std::nullopt;
    auto range = at_or_after(id + 1);
    if (range == ranges_.end()) return std::nullopt;
    return std::max(range->first, id + 1);
}

std::optional<Idset::Id> Idset::prev(Id id) const noexcept {
    auto range = at_or_after(id);
    if (range != ranges_.end() && range->first < id) return id - 1;
    if (range == ranges_.begin()) return std::nullopt;
    return std::prev(range)->last;
}

std::optional<Idset::Id> Idset::nth(std::size_t position) const noexcept {
    for (auto range : ranges_) {
        if (position < range.count()) return range.first + static_cast<Id>(position);
        position -= range.count();
    }
    return std::nullopt;
}

std::optional<std::size_t> Idset::position(Id id) const noexcept {
    std::size_t below = 0;
    for (auto range : ranges_) {
        if (id < range.first) break;
        if (id <= range.last) return below + (id - range.first);
        below += range.count();
    }
    return std::nullopt;
}

Idset Idset::lowest(std::size_t count) const {
    Idset result;
    for (auto range : ranges_) {
        if (count == 0) break;
        if (count < range.count()) range.last = range.first + static_cast<Id>(count - 1);
        result.ranges_.push_back(range);
        count -= range.count();
    }
    return result;
}

Idset operator|(const Idset& a, const Idset& b) {
    Idset result;
    auto add = [&out = result.ranges_](Idset::Range range) {
        if (out.empty() || range.first > out.back().last + 1)
            out.push_back(range);
        else
            out.back().last = std::max(out.back().last, range.last);
    };
    auto left = a.ranges_.begin(), right = b.ranges_.begin();
    while (left != a.ranges_.end() || right != b.ranges_.end()) {
        bool take_left = right == b.ranges_.end() || (left != a.ranges_.end() && left->first < right->first);
        add(take_left ? *left++ : *right++);
    }
    return result;
}

Idset operator&(const Idset& a, const Idset& b) {
    Idset result;
    auto left = a.ranges_.begin(), right = b.ranges_.begin();
    while (left != a.ranges_.end() && right != b.ranges_.end()) {
        Idset::Range common{std::max(left->first, right->first), std::min(left->last, right->last)};
        if (common.first <= common.last) result.ranges_.push_back(common);
        if (left->last < right->last)
            ++left;
        else
            ++right;
    }
    return result;
}

Idset operator-(const Idset& a, const Idset& b) {
    Idset result;
    auto hole = b.ranges_.begin();
    for (auto rest : a.ranges_) {
        while (hole != b.ranges_.end() && hole->last < rest.first) ++hole;
        bool gone = false;
        while (hole != b.ranges_.end() && hole->first <= rest.last) {
            if (hole->first > rest.first) result.ranges_.push_back({rest.first, hole->first - 1});
            gone = hole->last >= rest.last;
            if (gone) break; // this hole may reach into the next range
            rest.first = hole->last + 1;
            ++hole;
        }
        if (!gone) result.ranges_.push_back(rest);
    }
    return result;
}

Idset& Idset::operator|=(const Idset& other) { return *this = *this | other; }
Idset& Idset::operator&=(const Idset& other) { return *this = *this & other; }
Idset& Idset::operator-=(const Idset& other) { return *this = *this - other; }

bool Idset::includes(const Idset& other) const noexcept {
    return std::all_of(other.ranges_.begin(), other.ranges_.end(), [this](Range range) {
        auto mine = at_or_after(range.first);
        return mine != ranges_.end() && mine->first <= range.first && range.last <= mine->last;
    });
}

bool Idset::intersects(const Idset& other) const noexcept {
    auto mine = ranges_.begin(), theirs = other.ranges_.begin();
    while (mine != ranges_.end() && theirs != other.ranges_.end()) {
        if (mine->last < theirs->first)
            ++mine;
        else if (theirs->last < mine->first)
            ++theirs;
        else
            return true;
    }
    return false;
}

bool json_decode(JsonView value, Idset& out) {
    auto text = value.try_as<std::string_view>();
    auto set = text ? Idset::try_parse(*text) : std::nullopt;
    if (set) out = std::move(*set);
    return set.has_value();
}

} // namespace flux
