// The broker's log: ring (dmesg), stderr, file, syslog, forwarding to the leader (broker.md 3.3). The only user of
// spdlog.
#pragma once

#include "broker/attributes/attributes.hpp"

#include <flux/log_record.hpp>

#include <deque>
#include <memory>

namespace spdlog::sinks {
class sink;
}

namespace flux::broker {

class LogService {
public:
    LogService();
    ~LogService();

    /// Take levels and sinks from the attributes. \throws Error EINVAL naming a bad one
    void configure(const Attributes& attributes);
    void set_rank(std::uint32_t rank) noexcept { rank_ = rank; }
    /// Serve `log.*` on the broker's handle; records may be forwarded from then on.
    void serve(Handle& handle);
    /// A record of the broker itself.
    void log(LogLevel level, std::string_view text);
    /// Called with each record that reaches rank 0, for shutdown.start.
    std::function<void(const LogRecord&)> on_record;

private:
    void append(LogRecord record);
    void write_stderr(const LogRecord& record);
    void on_append(const Request& request);
    void on_dmesg(Request request);

    std::uint32_t rank_ = 0;
    std::size_t ring_size_ = 1024;
    int level_ = 7;
    int stderr_level_ = 3;
    bool stderr_local_ = false;
    int forward_level_ = 3;
    int critical_level_ = 2;
    int syslog_level_ = -1;
    std::string syslog_prefix_;
    Handle* handle_ = nullptr;
    std::deque<std::string> ring_;
    std::uint64_t count_ = 0, local_ = 0, remote_ = 0;
    RequestList<int> followers_;
    std::shared_ptr<spdlog::sinks::sink> stderr_sink_;
    std::shared_ptr<spdlog::sinks::sink> file_sink_;
    std::shared_ptr<spdlog::sinks::sink> syslog_sink_;
};

} // namespace flux::broker
