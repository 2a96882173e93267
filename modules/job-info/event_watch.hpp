// job-info.eventlog-watch: one log of a job, line by line.
#pragma once

#include "line_buffer.hpp"
#include "main_log.hpp"
#include "watch.hpp"

#include <optional>
#include <string>

namespace flux::job_info {

class EventWatch final : public Watch {
public:
    /// \param cursor  of an earlier instance, or nothing. \throws Error EPROTO
    EventWatch(Context& context, Request request, JsonView cursor);

    Json cursor() const override;
    bool is_guest() const noexcept { return path_.starts_with("guest."); }

private:
    Task<> run() override;
    Task<> follow_main();
    Task<> follow_guest(std::string key);
    Task<> follow_namespace(std::string key);
    Task<> send_snapshot(std::string key);
    Task<> send_all(kvs::Watch& watch);
    Task<> end_with_job();

    kvs::WatchOptions options() const;
    void send(const std::string& line);
    void send_sentinel();

    std::string path_;
    int flags_;
    std::size_t sent_ = 0;     // bytes of the log that the client has
    std::size_t position_ = 0; // bytes of the log read so far from where it is now
    bool sentinel_sent_ = false;
    LineBuffer lines_;
    std::optional<MainLog> main_;     // until what it decides is decided
    std::optional<kvs::Watch> guest_; // the log within the namespace of the running job
};

} // namespace flux::job_info
