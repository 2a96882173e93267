#include "cmd/submission/file_object.hpp"

#include <flux/base64.hpp>
#include <flux/error.hpp>
#include <flux/file_descriptor.hpp>

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/stat.h>

namespace flux::submission {
namespace {

constexpr unsigned default_permissions = 0600;

Json file_object(std::string_view content, unsigned mode, bool with_size) {
    auto object = Json::object("mode", mode);
    if (with_size || content.empty()) object.set("size", content.size());
    if (content.empty()) return object;
    try {
        object.set("data", Json(content));
        object.set("encoding", "utf-8");
    } catch (const Error&) {
        // Not text.
        object.set("data", base64_encode(content));
        object.set("encoding", "base64");
    }
    return object;
}

[[noreturn]] void fail_on(const std::string& path) { throw Error(errno, errno_text(errno) + ": '" + path + "'"); }

std::string unescape_newlines(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text.substr(at).starts_with("\\n")) {
            result += '\n';
            ++at;
        } else {
            result += text[at];
        }
    }
    return result;
}

} // namespace

Json file_of_content(std::string_view content, unsigned permissions) {
    return file_object(content, S_IFREG | permissions, false);
}

Json file_of_path(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) < 0) fail_on(path);
    if (!S_ISREG(status.st_mode)) throw Error(EINVAL, "'" + path + "' is no regular file");
    std::string content;
    char chunk[64 * 1024];
    for (;;) {
        auto size = ::read(file.get(), chunk, sizeof chunk);
        if (size < 0) fail_on(path);
        if (size == 0) break;
        content.append(chunk, static_cast<std::size_t>(size));
    }
    return file_object(content, status.st_mode, true);
}

std::pair<std::string, Json> parse_add_file(std::string_view text) {
    std::string_view name, argument = text;
    unsigned permissions = default_permissions;
    if (auto equals = text.find('='); equals != std::string_view::npos) {
        name = text.substr(0, equals);
        argument = text.substr(equals + 1);
        if (auto colon = name.rfind(':'); colon != std::string_view::npos) {
            auto octal = name.substr(colon + 1);
            auto [end, failure] = std::from_chars(octal.data(), octal.data() + octal.size(), permissions, 8);
            if (failure != std::errc() || end != octal.data() + octal.size() || permissions > 07777)
                throw Error(EINVAL, "--add-file: '" + std::string(octal) + "' are no octal permissions");
            name = name.substr(0, colon);
        }
    }
    auto content = unescape_newlines(argument);
    if (content.find('\n') != std::string::npos) {
        if (name.empty()) throw Error(EINVAL, "--add-file: file name missing");
        return {std::string(name), file_of_content(content, permissions)};
    }
    auto base = argument.substr(argument.rfind('/') + 1);
    return {std::string(name.empty() ? base : name), file_of_path(std::string(argument))};
}

} // namespace flux::submission
