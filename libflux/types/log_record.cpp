#include <flux/log_record.hpp>

#include <fmt/core.h>

#include <charconv>
#include <ctime>

namespace flux {
namespace {

std::string_view take_word(std::string_view& rest) {
    auto word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    return word;
}

} // namespace

const char* severity_name(int severity) noexcept {
    constexpr const char* names[] = {"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"};
    return severity >= 0 && severity < 8 ? names[severity] : "unknown";
}

std::string log_timestamp() {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm utc;
    ::gmtime_r(&now.tv_sec, &utc);
    char date[32];
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    return fmt::format("{}.{:06d}Z", date, now.tv_nsec / 1000);
}

std::optional<LogRecord> LogRecord::parse(std::string_view text) {
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.remove_suffix(1);
    if (text.empty() || text.front() != '<') return std::nullopt;
    auto close = text.find('>');
    if (close == std::string_view::npos || close > 6 || close + 1 >= text.size() || text[close + 1] != '1')
        return std::nullopt;
    int priority = 0;
    auto [end, failure] = std::from_chars(text.data() + 1, text.data() + close, priority);
    if (failure != std::errc() || end != text.data() + close || priority < 0) return std::nullopt;
    LogRecord record;
    record.severity = std::min(priority / 8, 7);
    auto rest = text.substr(close + 1);
    take_word(rest); // version
    record.timestamp = take_word(rest).substr(0, 40);
    auto host = take_word(rest);
    std::from_chars(host.data(), host.data() + host.size(), record.rank);
    record.app = take_word(rest).substr(0, 48);
    record.procid = take_word(rest).substr(0, 128);
    take_word(rest); // message id
    take_word(rest); // structured data
    record.message = rest;
    return record;
}

std::string LogRecord::encode() const {
    return fmt::format("<{}>1 {} {} {} {} - - {}", severity * 8, timestamp, rank, app, procid, message);
}

std::string LogRecord::line() const {
    return fmt::format("{}.{}[{}]: {}", app, severity_name(severity), rank, message);
}

} // namespace flux
