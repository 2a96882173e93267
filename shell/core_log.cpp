#include "core.hpp"

#include <flux/shell_protocol.hpp>

#include <cerrno>
#include <unistd.h>

namespace flux::shell {
namespace {

constexpr std::size_t max_message = 4096;

} // namespace

void Core::log(const LogRecord& record) {
    // What is logged while a message is handed on would come back here.
    if (logging_) return log_to_stderr(record);
    logging_ = true;
    auto shortened = record;
    std::string cut;
    if (record.message.size() > max_message) {
        cut = std::string(record.message.substr(0, max_message - 1)) + '+';
        shortened.message = cut;
    }
    if (log_sink_) {
        if (record.level <= stderr_level_) log_sink_(shortened);
    } else if (early_) {
        log_to_stderr(shortened);
    } else {
        log_to_eventlog(shortened);
    }
    each_plugin("log_message", [&](Plugin& plugin) { plugin.log_message(shortened); });
    logging_ = false;
}

void Core::log_to_stderr(const LogRecord& record) {
    if (record.level > stderr_level_) return;
    auto line = format_log(record);
    while (::write(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EINTR) continue;
}

void Core::log_to_eventlog(const LogRecord& record) {
    if (record.level > eventlog_level_) return;
    auto context = Json::object("rank", record.rank, "level", static_cast<int>(record.level));
    if (!record.component.empty()) context.set("component", record.component);
    try {
        context.set("message", record.message);
    } catch (const Error&) {
        context.set("message", "(message is not UTF-8)");
    }
    append_event(shell_protocol::output_key, EventlogEntry("log", std::move(context)));
}

void Core::set_log_level(std::string_view destination, Level level) {
    if (destination == "stderr")
        stderr_level_ = level;
    else if (destination == "eventlog")
        eventlog_level_ = level;
    else
        throw Error(EINVAL, "no log destination '" + std::string(destination) + "'");
}

} // namespace flux::shell
