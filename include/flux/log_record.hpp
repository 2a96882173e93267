// One log record as it travels and is kept: `<PRI>1 TIMESTAMP RANK APPNAME PROCID - - MESSAGE` (broker.md 3.3).
#pragma once

#include <flux/handle.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flux {

class LogRecord {
public:
    LogRecord() {}
    static std::optional<LogRecord> parse(std::string_view text);
    std::string encode() const;

    int severity = static_cast<int>(LogLevel::info);
    std::string timestamp; ///< `2026-01-01T00:00:00.000000Z`
    std::uint32_t rank = 0;
    std::string app;
    std::string procid = "-";
    std::string message;

    /// `APP.SEV[RANK]: MESSAGE`
    std::string line() const;
};

const char* severity_name(int severity) noexcept;
/// Now, in the form of a record's timestamp.
std::string log_timestamp();

} // namespace flux
