// flux logger: put a line into the log (cli.md 6.24).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/log_record.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <iostream>
#include <unistd.h>

namespace flux::cmd {
namespace {

int parse_severity(std::string_view name) {
    for (int severity = 0; severity <= static_cast<int>(LogLevel::debug); ++severity)
        if (name == severity_name(severity)) return severity;
    throw Error(EINVAL, "Invalid severity level '" + std::string(name) + "'");
}

Task<int> log(Handle* handle, LogRecord record, std::vector<std::string> lines) {
    auto rank = co_await handle->get_attr("rank");
    record.rank = static_cast<std::uint32_t>(std::stoul(rank.value_or("0")));
    for (const auto& line : lines) {
        record.message = line;
        auto message = Message::request("log.append");
        message.payload = Payload::from_bytes(record.encode());
        handle->send(std::move(message));
    }
    handle->flush();
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    LogRecord record;
    record.severity = parse_severity(parsed.get("severity", "notice"));
    record.app = parsed.get("appname", "logger");
    record.timestamp = log_timestamp();
    record.procid = std::to_string(::getpid());
    std::vector<std::string> lines;
    std::string words;
    for (const auto& word : parsed.operands()) words += words.empty() ? word : " " + word;
    if (!parsed.operands().empty())
        lines.push_back(words);
    else
        for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
    return context.run(&log, &context.handle(), record, lines);
}

using options::Value;
constexpr options::Option logger_options[] = {
    {.name = "severity",
     .key = 's',
     .value = Value::required,
     .argument = "LEVEL",
     .help = "Specify severity level: emerg, alert, crit, err, warning, notice (default), info, debug"},
    {.name = "appname", .key = 'n', .value = Value::required, .argument = "NAME", .help = "Set logger appname"},
};
static_assert(options::consistent(logger_options));

} // namespace

extern const options::Command cmd_logger;
const options::Command cmd_logger{.name = "logger",
                                  .program = "flux-logger",
                                  .synopsis = "[OPTIONS] message ...",
                                  .help = "Create log entries",
                                  .options = logger_options,
                                  .run = &run};

} // namespace flux::cmd
