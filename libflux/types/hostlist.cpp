#include <flux/hostlist.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <tuple>

namespace flux {
namespace {

constexpr std::string_view separators = ", \t";
constexpr std::string_view decimal_digits = "0123456789";
constexpr std::size_t max_name = 1023;
constexpr std::size_t max_ranges = 10240; // in one pair of brackets

unsigned digits(std::uint64_t number) {
    unsigned count = 1;
    for (; number >= 10; number /= 10) ++count;
    return count;
}

/// The width to keep for a run that begins at `number`, when its text is `length` characters long.
unsigned padding(std::uint64_t number, std::size_t length) {
    return digits(number) < length ? static_cast<unsigned>(length) : 0;
}

/// The whole text as a decimal number, when it is one and fits.
std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t number;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

[[noreturn]] void fail(std::string_view token, const char* why, int errnum = EINVAL) {
    throw Error(errnum, fmt::format("hostlist '{}': {}", token, why));
}

} // namespace

std::string Hostlist::Run::name(std::size_t offset) const {
    if (!numbered) return prefix;
    return fmt::format("{}{:0{}}{}", prefix, lo + offset, width, suffix);
}

std::optional<std::size_t> Hostlist::Run::offset_of(std::string_view host) const {
    if (!numbered) return host == prefix ? std::optional<std::size_t>(0) : std::nullopt;
    if (host.size() <= prefix.size() + suffix.size() || !host.starts_with(prefix) || !host.ends_with(suffix)) return {};
    auto text = host.substr(prefix.size(), host.size() - prefix.size() - suffix.size());
    auto number = number_of(text);
    if (!number || *number < lo || *number > hi || text.size() != std::max(digits(*number), width)) return {};
    return *number - lo;
}

/// Whether `next` can continue this run: then one width prints the numbers of both as they are.
bool Hostlist::Run::joins(const Run& next) const noexcept {
    if (!numbered || !next.numbered || hi == UINT64_MAX || next.lo != hi + 1) return false;
    if (!suffix.empty() || !next.suffix.empty() || prefix != next.prefix) return false;
    auto common = std::max(width, next.width);
    auto fits = [common](const Run& run) { return run.width == common || (!run.width && digits(run.lo) >= common); };
    return fits(*this) && fits(next);
}

Hostlist::Run Hostlist::run_of_host(std::string_view host) {
    auto split = host.find_last_not_of(decimal_digits) + 1;
    auto text = host.substr(split);
    auto number = number_of(text);
    if (!number) return {std::string(host)};
    return {std::string(host.substr(0, split)), {}, *number, *number, padding(*number, text.size()), true};
}

void Hostlist::add(Run run) {
    if (run.size() > max_hosts - size_) throw Error(ERANGE, "hostlist: too many hosts");
    size_ += run.size();
    if (!runs_.empty() && runs_.back().joins(run)) {
        runs_.back().hi = run.hi;
        runs_.back().width = std::max(runs_.back().width, run.width);
    } else {
        runs_.push_back(std::move(run));
    }
}

void Hostlist::parse_token(std::string_view token) {
    auto open = token.find('[');
    if (open == token.npos) {
        if (token.size() > max_name) fail(token, "host name is too long");
        add(run_of_host(token));
        return;
    }
    auto close = token.find(']');
    auto prefix = token.substr(0, open), suffix = token.substr(close + 1);
    auto list = token.substr(open + 1, close - open - 1);
    for (std::size_t count = 1;; ++count) {
        if (count > max_ranges) fail(token, "too many ranges", ERANGE);
        auto element = list.substr(0, list.find(','));
        auto dash = std::min(element.find('-'), element.size());
        auto first = element.substr(0, dash);
        auto second = element.substr(std::min(dash + 1, element.size()));
        if (first.empty() || element.find_first_not_of("0123456789-") != element.npos ||
            second.find('-') != second.npos)
            fail(token, "bad range");
        if (second.empty()) second = first;
        auto lo = number_of(first), hi = number_of(second);
        if (!lo || !hi) fail(token, "number is too large", ERANGE);
        if (*hi < *lo) fail(token, "range is out of order");
        if (*hi - *lo >= max_range) fail(token, "too many hosts in one range", ERANGE);
        if (prefix.size() + std::max(first.size(), second.size()) + suffix.size() > max_name)
            fail(token, "host name is too long");
        add({std::string(prefix), std::string(suffix), *lo, *hi, padding(*lo, first.size()), true});
        if (element.size() == list.size()) return;
        list.remove_prefix(element.size() + 1);
    }
}

Hostlist Hostlist::parse(std::string_view text) {
    Hostlist result;
    std::size_t begin = 0;
    bool inside = false;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        bool ends = at == text.size() || (!inside && separators.find(text[at]) != separators.npos);
        if (ends) {
            if (inside) fail(text.substr(begin), "unbalanced brackets");
            if (at > begin) result.parse_token(text.substr(begin, at - begin));
            begin = at + 1;
        } else if (text[at] == '[' || text[at] == ']') {
            if (inside != (text[at] == ']')) fail(text.substr(begin), "unbalanced brackets");
            inside = !inside;
        }
    }
    return result;
}

std::optional<Hostlist> Hostlist::try_parse(std::string_view text) {
    try {
        return parse(text);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::string Hostlist::encode() const {
    std::string text;
    auto out = std::back_inserter(text);
    for (auto run = runs_.begin(); run != runs_.end();) {
        if (!text.empty()) text += ',';
        if (!run->numbered || !run->suffix.empty()) {
            for (std::size_t offset = 0; offset < run->size(); ++offset)
                fmt::format_to(out, "{}{}", offset ? "," : "", run->name(offset));
            ++run;
            continue;
        }
        auto group_end = std::find_if(run, runs_.end(), [first = run](const Run& other) {
            return !other.numbered || !other.suffix.empty() || other.prefix != first->prefix;
        });
        bool several = group_end - run > 1 || run->size() > 1;
        fmt::format_to(out, "{}{}", run->prefix, several ? "[" : "");
        for (auto first = run; run != group_end; ++run) {
            fmt::format_to(out, "{}{:0{}}", run == first ? "" : ",", run->lo, run->width);
            if (run->hi != run->lo) fmt::format_to(out, "-{:0{}}", run->hi, run->width);
        }
        if (several) text += ']';
    }
    return text;
}

std::string Hostlist::at(std::size_t position) const {
    auto offset = position;
    for (const auto& run : runs_) {
        if (offset < run.size()) return run.name(offset);
        offset -= run.size();
    }
    throw Error(ENOENT, fmt::format("hostlist: no host at position {} of {}", position, size_));
}

std::optional<std::size_t> Hostlist::find(std::string_view host) const {
    std::size_t before = 0;
    for (const auto& run : runs_) {
        if (auto offset = run.offset_of(host)) return before + *offset;
        before += run.size();
    }
    return std::nullopt;
}

void Hostlist::push_back(std::string_view host) { add(run_of_host(host)); }

void Hostlist::append(const Hostlist& other) {
    for (auto run : std::vector(other.runs_)) add(std::move(run)); // a copy: `other` may be this list
}

std::size_t Hostlist::remove(const Hostlist& other) {
    std::size_t removed = 0;
    for (const auto& host : Hostlist(other)) {
        for (std::size_t run = 0; run < runs_.size(); ++run) {
            auto offset = runs_[run].offset_of(host);
            if (!offset) continue;
            remove_at(run, *offset);
            ++removed;
            break;
        }
    }
    return removed;
}

void Hostlist::remove_at(std::size_t index, std::size_t offset) {
    auto at = runs_.begin() + static_cast<std::ptrdiff_t>(index);
    --size_;
    if (at->size() == 1) {
        runs_.erase(at);
        return;
    }
    auto number = at->lo + offset;
    auto width = std::max(digits(at->lo), at->width);
    auto rest = *at;
    rest.lo = number + 1;
    rest.width = padding(rest.lo, width);
    if (offset == 0) {
        *at = std::move(rest);
    } else {
        bool was_last = number == at->hi;
        at->hi = number - 1;
        if (!was_last) runs_.insert(at + 1, std::move(rest));
    }
}

/// Cuts a run into pieces that sort by (prefix, length of the number, number): literal names, and numbers of one
/// length.
void Hostlist::add_pieces(const Run& run, std::vector<Run>& pieces) {
    if (!run.numbered) {
        pieces.push_back(run);
    } else if (!run.suffix.empty()) {
        for (std::size_t offset = 0; offset < run.size(); ++offset) pieces.push_back({run.name(offset)});
    } else {
        auto piece = run;
        for (;;) {
            auto length = std::max(digits(piece.lo), run.width);
            std::uint64_t longest = 0; // the largest number of that length
            for (unsigned digit = 0; digit < length && longest < run.hi; ++digit)
                longest = longest > UINT64_MAX / 10 - 1 ? UINT64_MAX : longest * 10 + 9;
            piece.hi = std::min(run.hi, longest);
            piece.width = length; // for sorting; arrange() sets it right
            pieces.push_back(piece);
            if (piece.hi == run.hi) break;
            piece.lo = piece.hi + 1;
        }
    }
}

void Hostlist::arrange(bool keep_duplicates) {
    std::vector<Run> pieces;
    for (const auto& run : runs_) add_pieces(run, pieces);
    auto key = [](const Run& run) { return std::tie(run.prefix, run.numbered, run.width, run.lo); };
    std::sort(pieces.begin(), pieces.end(), [key](const Run& a, const Run& b) { return key(a) < key(b); });

    runs_.clear();
    size_ = 0;
    auto add_numbers = [this](const Run& like, std::uint64_t lo, std::uint64_t hi) {
        add({like.prefix, {}, lo, hi, like.numbered ? padding(lo, like.width) : 0, like.numbered});
    };
    for (auto first = pieces.begin(); first != pieces.end();) {
        // Pieces that overlap one another hold duplicates.
        auto hi = first->hi;
        auto last = std::next(first);
        while (last != pieces.end() && last->prefix == first->prefix && last->numbered == first->numbered &&
               last->width == first->width && last->lo <= hi) {
            hi = std::max(hi, last->hi);
            ++last;
        }
        if (!keep_duplicates || last - first == 1) {
            add_numbers(*first, first->lo, hi);
        } else {
            std::vector<std::uint64_t> numbers;
            for (auto piece = first; piece != last; ++piece)
                for (auto number = piece->lo; number - piece->lo < piece->size(); ++number) numbers.push_back(number);
            std::sort(numbers.begin(), numbers.end());
            for (auto number : numbers) add_numbers(*first, number, number);
        }
        first = last;
    }
}

bool operator==(const Hostlist& a, const Hostlist& b) {
    if (a.runs_ == b.runs_) return true;
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
}

bool json_decode(JsonView value, Hostlist& out) {
    auto text = value.try_as<std::string_view>();
    auto list = text ? Hostlist::try_parse(*text) : std::nullopt;
    if (list) out = std::move(*list);
    return list.has_value();
}

} // namespace flux
