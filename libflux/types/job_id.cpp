#include "job_id_forms.hpp"

#include <flux/job_id.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <langinfo.h>
#include <strings.h>

namespace flux {
namespace {

using job_id_forms::decode_emoji;
using job_id_forms::decode_words;

constexpr std::string_view white_space = " \t\n\v\f\r";
constexpr std::string_view f58_sign = "\u0192"; // ƒ
constexpr std::string_view f58_digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
constexpr std::size_t max_f58_digits = 12;

std::string encode_f58(std::uint64_t value, std::string_view sign) {
    std::array<char, max_f58_digits> text;
    auto first = text.end();
    do {
        *--first = f58_digits[value % f58_digits.size()];
        value /= f58_digits.size();
    } while (value > 0);
    return std::string(sign).append(first, text.end());
}

std::optional<std::uint64_t> decode_f58(std::string_view text) {
    if (text.empty() || text.size() > max_f58_digits) return std::nullopt;
    std::uint64_t value = 0;
    for (char c : text) {
        auto digit = f58_digits.find(c);
        if (digit == f58_digits.npos) return std::nullopt;
        if (__builtin_mul_overflow(value, f58_digits.size(), &value)) return std::nullopt;
        if (__builtin_add_overflow(value, digit, &value)) return std::nullopt;
    }
    return value;
}

std::optional<std::uint64_t> decode_number(std::string_view text, int base) {
    std::uint64_t value;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::uint64_t> decode_dothex(std::string_view text) {
    std::uint64_t value = 0;
    for (int group = 0; group < 4; ++group) {
        auto dot = text.find('.');
        if ((dot == text.npos) != (group == 3)) return std::nullopt;
        auto digits = text.substr(0, dot);
        auto bits = digits.size() <= 4 ? decode_number(digits, 16) : std::nullopt;
        if (!bits) return std::nullopt;
        value = value << 16 | *bits;
        text.remove_prefix(std::min(digits.size() + 1, text.size()));
    }
    return value;
}

std::optional<std::uint64_t> decode(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(white_space), text.size()));
    if (text.starts_with("job.")) text.remove_prefix(4);
    if (text.find('.') != text.npos) return decode_dothex(text);
    if (text.find('-') != text.npos) return decode_words(text);
    if (text.starts_with(f58_sign)) return decode_f58(text.substr(f58_sign.size()));
    if (text.starts_with('f')) return decode_f58(text.substr(1));
    if (text.starts_with("\xf0\x9f")) return decode_emoji(text);
    text = text.substr(0, text.find_last_not_of(white_space) + 1);
    if (text.starts_with("0x")) return decode_number(text.substr(2), 16);
    return decode_number(text, 10);
}

bool shows_utf8() {
    return !std::getenv("FLUX_F58_FORCE_ASCII") && MB_CUR_MAX > 1 && ::strcasecmp(::nl_langinfo(CODESET), "UTF-8") == 0;
}

} // namespace

std::optional<JobId> JobId::try_parse(std::string_view text) {
    auto value = decode(text);
    return value ? std::optional(JobId(*value)) : std::nullopt;
}

JobId JobId::parse(std::string_view text) {
    if (auto id = try_parse(text)) return *id;
    throw Error(EINVAL, fmt::format("invalid job id '{}'", text));
}

std::string JobId::dec() const { return fmt::format("{}", value_); }
std::string JobId::hex() const { return fmt::format("{:#x}", value_); }
std::string JobId::kvs() const { return "job." + dothex(); }
std::string JobId::f58() const { return encode_f58(value_, shows_utf8() ? f58_sign : "f"); }
std::string JobId::f58plain() const { return encode_f58(value_, "f"); }
std::string JobId::words() const { return job_id_forms::encode_words(value_); }
std::string JobId::emoji() const { return job_id_forms::encode_emoji(value_); }

std::string JobId::dothex() const {
    auto group = [this](int index) { return value_ >> (16 * index) & 0xffff; };
    return fmt::format("{:04x}.{:04x}.{:04x}.{:04x}", group(3), group(2), group(1), group(0));
}

std::string JobId::encode(std::string_view form) const {
    struct Form {
        std::string_view name;
        std::string (JobId::*encode)() const;
    };
    static constexpr Form forms[] = {
        {"dec", &JobId::dec},     {"hex", &JobId::hex}, {"dothex", &JobId::dothex},     {"kvs", &JobId::kvs},
        {"words", &JobId::words}, {"f58", &JobId::f58}, {"f58plain", &JobId::f58plain}, {"emoji", &JobId::emoji}};
    for (auto [name, encode] : forms)
        if (name.size() == form.size() && ::strncasecmp(name.data(), form.data(), name.size()) == 0)
            return (this->*encode)();
    throw Error(EPROTO, fmt::format("unknown form of job ids '{}'", form));
}

bool json_decode(JsonView value, JobId& out) noexcept {
    auto number = value.try_as<std::int64_t>();
    if (number) out = JobId(static_cast<std::uint64_t>(*number));
    return number.has_value();
}

} // namespace flux
