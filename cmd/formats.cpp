#include "cmd/formats.hpp"

#include "cmd/output/color.hpp"

#include <flux/error.hpp>
#include <flux/toml.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/ioctl.h>
#include <unistd.h>

namespace flux::cmd {
namespace {

constexpr std::string_view snippet_prefix = "get-config=";

Json read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Error(errno, path + ": " + errno_text(errno));
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (path.ends_with(".json")) return Json::parse(text, path);
    if (path.ends_with(".toml")) return parse_toml(text, path);
    throw Error(ENOTSUP, path + ": YAML is not supported, use TOML or JSON");
}

} // namespace

std::optional<output::Format> choose_format(const output::FormatSource& source, const options::Parsed& parsed,
                                            const output::Headings& headings) {
    output::NamedFormats formats(source);
    for (const auto& file : output::format_files(source.base)) formats.merge(read(file), file);
    auto wanted = parsed.get("format", "default");
    if (wanted == "help") {
        fmt::print("{}", formats.help());
        return std::nullopt;
    }
    if (wanted.starts_with(snippet_prefix)) {
        fmt::print("{}", formats.config_snippet(wanted.substr(snippet_prefix.size())));
        return std::nullopt;
    }
    return output::Format::parse(formats.choose(wanted), headings);
}

bool choose_color(const options::Parsed& parsed) {
    try {
        return output::color_wanted(parsed.has("color"), parsed.find("color"), ::isatty(STDOUT_FILENO),
                                    std::getenv("NO_COLOR"));
    } catch (const Error& error) {
        throw parsed.usage_error(error.what());
    }
}

std::optional<std::size_t> terminal_width() {
    winsize size{};
    if (!::isatty(STDOUT_FILENO) || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return std::nullopt;
    return size.ws_col;
}

void print_listing(const output::Format& format, const std::vector<output::Row>& rows, bool with_header) {
    output::Listing listing(format, rows, with_header);
    if (with_header) fmt::print("{}\n", listing.header());
    for (auto index : output::sorted(rows, format.sort_keys)) {
        auto line = listing.line(rows[index]);
        if (!output::is_blank(line)) fmt::print("{}\n", line);
    }
}

} // namespace flux::cmd
