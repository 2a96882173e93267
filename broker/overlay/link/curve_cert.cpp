#include "broker/overlay/link/curve_cert.hpp"

#include <flux/error.hpp>
#include <flux/file_descriptor.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::broker {
namespace {

constexpr std::size_t encoded_size = 40;
constexpr std::string_view z85_digits =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

// Each 5 digits are 4 bytes.
std::optional<CurveCert::Key> decode_z85(std::string_view text) {
    if (text.size() != encoded_size) return std::nullopt;
    CurveCert::Key key;
    for (std::size_t at = 0, out = 0; at < encoded_size; at += 5) {
        std::uint64_t number = 0;
        for (char c : text.substr(at, 5)) {
            auto digit = z85_digits.find(c);
            if (digit == z85_digits.npos) return std::nullopt;
            number = number * z85_digits.size() + digit;
        }
        if (number > UINT32_MAX) return std::nullopt;
        for (int shift = 24; shift >= 0; shift -= 8) key[out++] = static_cast<std::uint8_t>(number >> shift);
    }
    return key;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    auto begin = text.find_first_not_of(blank);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

// The value of `name = value`: quoted, or up to a comment.
std::optional<std::string_view> value_of(std::string_view text) {
    text = trimmed(text);
    if (text.empty() || (text[0] != '"' && text[0] != '\'')) return trimmed(text.substr(0, text.find('#')));
    auto end = text.find(text[0], 1);
    if (end == text.npos) return std::nullopt;
    auto after = trimmed(text.substr(end + 1));
    if (!after.empty() && after[0] != '#') return std::nullopt;
    return text.substr(1, end - 1);
}

} // namespace

CurveCert CurveCert::parse(std::string_view text) {
    if (text.size() > size_limit) throw Error(EINVAL, fmt::format("larger than {} bytes", size_limit));
    std::optional<Key> public_key, secret_key;
    bool in_curve = false;
    for (std::size_t number = 1; !text.empty(); ++number) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        auto content = trimmed(line);
        if (content.empty() || content[0] == '#') continue;
        auto fail = [&](std::string_view why) { throw Error(EINVAL, fmt::format("line {}: {}", number, why)); };
        if (content.find('\0') != content.npos) fail("NUL in a text");
        bool nested = line[0] == ' ' || line[0] == '\t';
        if (!nested) in_curve = trimmed(content.substr(0, content.find_first_of("#="))) == "curve";
        auto equals = content.find('=');
        if (equals == content.npos || !nested || !in_curve) continue;
        auto name = trimmed(content.substr(0, equals));
        if (name != "public-key" && name != "secret-key") continue;
        auto& key = name == "public-key" ? public_key : secret_key;
        if (key) fail(fmt::format("{} for the second time", name));
        auto value = value_of(content.substr(equals + 1));
        if (!value) fail(fmt::format("{}: the quotes do not match", name));
        key = decode_z85(*value);
        if (!key) fail(fmt::format("{} is no key of {} Z85 characters", name, encoded_size));
    }
    if (!public_key) throw Error(EINVAL, "public-key is missing from section curve");
    if (!secret_key) throw Error(EINVAL, "secret-key is missing from section curve");
    CurveCert cert;
    cert.public_key = *public_key;
    cert.secret_key = *secret_key;
    return cert;
}

CurveCert CurveCert::load(const std::string& path) {
    auto fail = [&](int errnum, const std::string& why) {
        throw Error(errnum, fmt::format("certificate {}: {}", path, why));
    };
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) < 0) fail(errno, errno_text(errno));
    if (!S_ISREG(status.st_mode)) fail(EINVAL, "not a regular file");
    if (status.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH))
        fail(EPERM, "group or others may read or write it, which only its owner may");
    std::string text(size_limit + 1, '\0');
    std::size_t size = 0;
    for (ssize_t n = 1; n > 0 && size < text.size(); size += static_cast<std::size_t>(n)) {
        n = ::read(file.get(), text.data() + size, text.size() - size);
        if (n < 0) fail(errno, errno_text(errno));
    }
    try {
        return parse(std::string_view(text).substr(0, size));
    } catch (const Error& error) {
        throw error.while_doing("certificate " + path);
    }
}

} // namespace flux::broker
