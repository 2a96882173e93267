#include "cmd/formats.hpp"
#include "cmd/kvs/commands.hpp"

#include <flux/parse_integer.hpp>

#include <cerrno>
#include <cstdlib>

namespace flux::cmd::kvs {

std::string name_space(const options::Parsed& parsed) {
    auto given = parsed.find("namespace");
    return given ? std::string(*given) : flux::kvs::default_namespace();
}

std::optional<Blobref> snapshot(const options::Parsed& parsed) {
    auto text = parsed.find("at");
    if (!text) return std::nullopt;
    auto object = treeobj::decode(*text);
    auto refs = treeobj::blobrefs_of(object);
    if (treeobj::type_of(object) != treeobj::Type::dirref || refs.size() != 1)
        throw Error(EINVAL, "--at: no reference to a directory");
    return refs[0];
}

Error about(std::string_view key, const Error& error) {
    return Error(error.errnum(), std::string(key) + ": " + errno_text(error.errnum()));
}

std::size_t output_width(const options::Parsed& parsed) {
    if (parsed.has("width")) return parsed.number<std::size_t>("width", 0);
    if (auto width = terminal_width()) return *width;
    const char* columns = std::getenv("COLUMNS");
    if (auto number = parse_integer<std::size_t>(columns ? columns : "")) return *number;
    constexpr std::size_t usual = 80;
    return usual;
}

} // namespace flux::cmd::kvs
