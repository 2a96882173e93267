#include <flux/resource_count.hpp>

#include <cerrno>
#include <charconv>

namespace flux {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, "RFC 14 count: " + text); }

// A decimal number without leading zeros off the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
    std::uint64_t number;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    auto length = static_cast<std::size_t>(end - text.data());
    if (status != std::errc() || length == 0 || (text.front() == '0' && length > 1)) return std::nullopt;
    text.remove_prefix(length);
    return number;
}

bool take(std::string_view& text, char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
}

// The number after `number` in a range; 0 when it would not fit.
std::uint64_t step(std::uint64_t number, std::uint64_t operand, char op) {
    if (op == '+') return number + operand;
    if (op == '*') return number * operand;
    std::uint64_t power = 1;
    for (std::uint64_t i = 0; i < operand; ++i) {
        power *= number;
        if (power > UINT32_MAX) return 0;
    }
    return power;
}

std::uint64_t integer_member(JsonView object, std::string_view key, std::uint64_t absent) {
    auto value = object[key];
    if (!value) return absent;
    auto number = value.try_as<std::uint64_t>();
    if (!number) fail(std::string(key) + " must be an integer >= 1, got " + value.dump());
    return *number;
}

} // namespace

ResourceCount ResourceCount::range(std::uint64_t min, std::uint64_t max, std::uint64_t operand, std::string_view op) {
    if (op != "+" && op != "*" && op != "^") fail("unknown operator '" + std::string(op) + "'");
    if (min < 1 || min > UINT32_MAX - 1) fail("min must be >= 1, got " + std::to_string(min));
    if (max < min || max > UINT32_MAX) fail("max must be >= min, got " + std::to_string(max));
    if (operand < (op == "+" ? 1 : 2) || operand > UINT32_MAX)
        fail("invalid operand " + std::to_string(operand) + " for operator '" + std::string(op) + "'");
    if (op == "^" && min < 2) fail("min must be >= 2 for operator '^'");
    ResourceCount result;
    result.min_ = static_cast<std::uint32_t>(min);
    result.max_ = static_cast<std::uint32_t>(max);
    if (min == max) return result;
    result.operand_ = static_cast<std::uint32_t>(operand);
    result.operator_ = op.front();
    return result;
}

ResourceCount ResourceCount::decode(JsonView value) {
    if (auto text = value.try_as<std::string_view>()) return parse(*text);
    if (auto number = value.try_as<std::int64_t>()) {
        if (*number < 1) fail("integer count must be >= 1, got " + std::to_string(*number));
        if (*number >= unbounded) fail("integer count is too large");
        return ResourceCount(static_cast<std::uint32_t>(*number));
    }
    if (!value.is_object()) fail(std::string("expected integer, string or object, got ") + value.type_name());
    if (!value.contains("min")) fail("min is missing");
    if (value.contains("operator") != value.contains("operand")) fail("operator and operand go together");
    auto op = value.contains("operator") ? value["operator"].try_as<std::string_view>().value_or("") : "+";
    return range(integer_member(value, "min", 1), integer_member(value, "max", unbounded),
                 integer_member(value, "operand", 1), op);
}

ResourceCount ResourceCount::parse(std::string_view text) {
    if (text.starts_with('{')) {
        auto object = Json::parse(text, "RFC 14 count");
        return decode(object);
    }
    auto rest = text;
    if (auto number = take_number(rest); number && rest.empty()) {
        if (*number < 1) fail("integer count must be >= 1, got " + std::to_string(*number));
        if (*number >= unbounded) fail("integer count is too large");
        return ResourceCount(static_cast<std::uint32_t>(*number));
    }
    if (auto set = Idset::try_parse(text); set && !set->empty()) {
        if (set->test(0)) fail("0 is no count in '" + std::string(text) + "'");
        ResourceCount result;
        result.min_ = *set->first();
        result.max_ = *set->last();
        if (set->ranges().size() > 1) result.set_ = std::move(*set);
        return result;
    }
    auto result = try_range(text);
    if (!result) fail("invalid count '" + std::string(text) + "'");
    return *result;
}

// MIN-MAX or MIN+, then `:OPERAND` and `:OPERATOR`.
std::optional<ResourceCount> ResourceCount::try_range(std::string_view text) {
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    auto min = take_number(text);
    std::optional<std::uint64_t> max = unbounded, operand = 1;
    if (!take(text, '+')) {
        if (!take(text, '-')) return std::nullopt;
        max = take_number(text);
    }
    std::string_view op = "+";
    if (take(text, ':')) {
        operand = take_number(text);
        if (take(text, ':')) {
            op = text;
            text = {};
        }
    }
    if (!min || !max || !operand || !text.empty()) return std::nullopt;
    return range(*min, *max, *operand, op);
}

std::string ResourceCount::encode() const {
    if (!set_.empty()) return set_.encode();
    auto text = std::to_string(min_);
    if (is_number()) return text;
    text += is_bounded() ? '-' + std::to_string(max_) : "+";
    if (operator_ != '+') return text + ':' + std::to_string(operand_) + ':' + operator_;
    return operand_ == 1 ? text : text + ':' + std::to_string(operand_);
}

bool ResourceCount::is_contiguous() const noexcept {
    return set_.empty() && (is_number() || (operator_ == '+' && operand_ == 1));
}

bool ResourceCount::test(std::uint32_t number) const noexcept {
    if (!set_.empty()) return set_.test(number);
    if (number < min_ || number > max_) return false;
    if (operator_ == '+') return (number - min_) % operand_ == 0;
    for (std::uint64_t at = min_; at != 0 && at <= number; at = step(at, operand_, operator_))
        if (at == number) return true;
    return false;
}

} // namespace flux
