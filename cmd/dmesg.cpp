// flux dmesg: the log of the broker (cli.md 6.24).
#include "cmd/context.hpp"
#include "cmd/formats.hpp"
#include "cmd/output/color.hpp"
#include "cmd/output/human_time.hpp"

#include <flux/log_record.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd {
namespace {

class Printer {
public:
    Printer(bool human, bool delta, bool color) : human_(human), color_(color), time_(delta) {}

    void print(std::string_view bytes) {
        auto record = LogRecord::parse(bytes);
        if (!record) {
            while (bytes.ends_with('\0') || bytes.ends_with('\n')) bytes.remove_suffix(1);
            fmt::print("{}\n", bytes);
        } else {
            auto name = fmt::format("{}.{}[{}]:", record->app, severity_name(record->severity), record->rank);
            fmt::print("{} {} {}\n", time(*record), painted("\033[33m", name),
                       painted(severity_color(record->severity), record->message));
        }
        std::fflush(stdout);
    }

private:
    std::string time(const LogRecord& record) {
        auto seconds = output::parse_iso_time(record.timestamp);
        if (!human_) return painted("\033[32m", output::iso_time(seconds));
        auto [text, minute] = time_.next(seconds);
        return painted(minute ? "\033[01;32m" : "\033[32m", text);
    }

    std::string painted(std::string_view color, const std::string& text) const {
        if (!color_ || color.empty()) return text;
        return fmt::format("{}{}{}", color, text, output::sgr::plain_reset);
    }

    static std::string_view severity_color(int severity) {
        switch (static_cast<LogLevel>(severity)) {
        case LogLevel::emerg:
        case LogLevel::alert: return "\033[7;31m";
        case LogLevel::crit: return "\033[01;31m";
        case LogLevel::err: return "\033[31m";
        case LogLevel::warning: return "\033[01m";
        case LogLevel::debug: return "\033[34m";
        default: return {};
        }
    }

    bool human_;
    bool color_;
    output::HumanTime time_;
};

Task<int> dmesg(Handle* handle, const options::Parsed* parsed, Printer* printer) {
    if (!parsed->has("clear")) {
        auto request = Json::object("follow", parsed->has("follow"), "nobacklog", parsed->has("new"));
        auto records = handle->stream("log.dmesg", std::move(request));
        while (auto record = co_await records.next()) printer->print(record->payload.bytes());
    }
    if (parsed->has("clear") || parsed->has("read-clear")) co_await handle->call("log.clear");
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    if (parsed.has("delta") && !parsed.has("human")) throw Error(EINVAL, "--delta can only be used with --human");
    Printer printer(parsed.has("human"), parsed.has("delta"), choose_color(parsed));
    return context.run(&dmesg, &context.handle(), &parsed, &printer);
}

constexpr options::Option dmesg_options[] = {
    {.name = "clear", .key = 'C', .help = "Clear the ring buffer contents"},
    {.name = "read-clear", .key = 'c', .help = "Clear the ring buffer contents after printing"},
    {.name = "follow", .key = 'f', .help = "Track new entries as they are logged"},
    {.name = "new", .key = 'n', .help = "Follow only new log messages"},
    {.name = "human", .key = 'H', .help = "Human readable output"},
    {.name = "delta", .key = 'd', .help = "With --human, show timestamp delta between messages"},
    color_row(),
};
static_assert(options::consistent(dmesg_options));

} // namespace

extern const options::Command cmd_dmesg;
const options::Command cmd_dmesg{.name = "dmesg",
                                 .program = "flux-dmesg",
                                 .synopsis = "[OPTIONS...]",
                                 .help = "Print or control the log ring buffer",
                                 .options = dmesg_options,
                                 .run = &run};

} // namespace flux::cmd
