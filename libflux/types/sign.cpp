#include <flux/base64.hpp>
#include <flux/error.hpp>
#include <flux/sign.hpp>

#include <cerrno>
#include <charconv>
#include <optional>

namespace flux {
namespace {

constexpr std::string_view mechanism_none = "none";

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, "signed request: " + text); }

std::string decoded(std::string_view base64) {
    try {
        return base64_decode(base64);
    } catch (const Error& error) {
        fail(error.what());
    }
}

// The next string up to its NUL.
std::string_view take_string(std::string_view& header) {
    auto end = header.find('\0');
    if (end == header.npos) fail("header ends within a string");
    auto text = header.substr(0, end);
    header.remove_prefix(end + 1);
    return text;
}

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    auto [end, failure] = std::from_chars(text.begin(), text.end(), value);
    if (failure != std::errc{} || end != text.end()) fail("header has a malformed integer");
    return value;
}

std::uint32_t check_header(std::string_view header) {
    std::optional<std::int64_t> version, userid;
    std::optional<std::string_view> mechanism;
    while (!header.empty()) {
        auto key = take_string(header);
        auto value = take_string(header);
        char type = value.empty() ? '\0' : value[0];
        value.remove_prefix(value.empty() ? 0 : 1);
        if (key == "version" && type == 'i')
            version = number(value);
        else if (key == "userid" && type == 'i')
            userid = number(value);
        else if (key == "mechanism" && type == 's')
            mechanism = value;
        else
            fail("header has an unknown key '" + std::string(key) + "'");
    }
    if (!version || !userid || !mechanism) fail("header lacks a key");
    if (version != 1) fail("unknown version " + std::to_string(*version));
    if (mechanism != mechanism_none) fail("unknown mechanism '" + std::string(*mechanism) + "'");
    if (*userid < 0 || *userid >= UINT32_MAX) fail("userid out of range");
    return static_cast<std::uint32_t>(*userid);
}

} // namespace

std::string SignedRequest::sign(std::string_view payload, std::uint32_t userid) {
    using namespace std::string_literals;
    auto header = "version\0i1\0userid\0i"s + std::to_string(userid) + "\0mechanism\0snone\0"s;
    return base64_encode(header) + '.' + base64_encode(payload) + '.' + std::string(mechanism_none);
}

SignedRequest SignedRequest::unwrap(std::string_view text) {
    auto first = text.find('.');
    auto second = text.find('.', first + 1);
    if (first == text.npos || second == text.npos) fail("expected HEADER.PAYLOAD.SIGNATURE");
    auto userid = check_header(decoded(text.substr(0, first)));
    if (text.substr(second + 1) != mechanism_none) fail("wrong signature");
    return SignedRequest{userid, decoded(text.substr(first + 1, second - first - 1))};
}

} // namespace flux
