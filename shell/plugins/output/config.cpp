#include "config.hpp"

#include <flux/byte_size.hpp>

#include <cerrno>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

namespace flux::shell {
namespace {

constexpr std::uint64_t owner_limit = std::uint64_t{1} << 30;
constexpr std::uint64_t guest_limit = 10 << 20;
constexpr std::uint64_t max_limit = std::uint64_t{1} << 30;
constexpr std::uint64_t large_limit = 100 << 20;

std::uint64_t read_limit(Shell& shell, JsonView option) {
    if (!option) return shell.info().owner == ::getuid() ? owner_limit : guest_limit;
    auto limit = option.is_integer() ? option.as<std::uint64_t>() : parse_byte_size(option.as<std::string_view>());
    if (limit < 1 || limit > max_limit) throw Error(EINVAL, "output.limit must be 1 byte to 1G, not " + option.dump());
    if (limit > large_limit)
        shell.log(Level::warning, "output", "a limit of " + format_byte_size(limit) + " is large, consider a file");
    return limit;
}

int read_mode(Shell& shell, JsonView option) {
    auto mode = option.as<std::string>();
    if (mode == "truncate") return O_TRUNC;
    if (mode == "append") return O_APPEND;
    shell.log(Level::warning, "output", "ignoring invalid output.mode=" + mode);
    return 0;
}

void read_stream(Shell& shell, JsonView option, StreamConfig& stream) {
    if (auto path = option["path"]) stream.path = path.as<std::string>();
    auto type = option["type"].try_as<std::string>().value_or("");
    if (type == "kvs") stream.path.clear();
    if (auto label = option["label"]) stream.label = label.as<bool>();
    if (auto mode = option["mode"]) stream.open_flags = read_mode(shell, mode);
    if (auto buffer = option.find("buffer.type")) {
        auto text = buffer.try_as<std::string>().value_or("");
        stream.line_buffered = ::strcasecmp(text.c_str(), "none") != 0;
        if (stream.line_buffered && ::strcasecmp(text.c_str(), "line") != 0)
            shell.log(Level::error, "output", "invalid buffer type " + buffer.dump() + " of " + stream.name);
    }
    auto without_path = shell.standalone() ? StreamConfig::Target::terminal : StreamConfig::Target::events;
    stream.target = stream.path.empty() ? without_path : StreamConfig::Target::file;
}

} // namespace

OutputConfig OutputConfig::read(Shell& shell) {
    OutputConfig config;
    auto option = shell.option("output");
    config.limit = read_limit(shell, option["limit"]);
    if (auto client = option["client"]) {
        config.low_water = client.get_or("lwm", config.low_water);
        config.high_water = client.get_or("hwm", config.high_water);
        if (config.low_water >= config.high_water) throw Error(EINVAL, "output.client: expected 0 <= lwm < hwm");
    }
    config.out.name = "stdout";
    config.out.open_flags = option.contains("mode") ? read_mode(shell, option["mode"]) : O_TRUNC;
    read_stream(shell, option["stdout"], config.out);
    config.err = config.out;
    config.err.name = "stderr";
    config.err.line_buffered = false;
    read_stream(shell, option["stderr"], config.err);
    return config;
}

} // namespace flux::shell
