// A job's eventlogs as they grow (jobs.md 7.3).
#pragma once

#include <flux/eventlog.hpp>
#include <flux/handle.hpp>
#include <flux/job_id.hpp>
#include <flux/job_info_protocol.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace flux::follow {

using job_info_protocol::initial_sentinel;
using job_info_protocol::wait_create;

/// Names of logs.
inline constexpr std::string_view main_log = "eventlog";
inline constexpr std::string_view exec_log = "guest.exec.eventlog";
inline constexpr std::string_view output_log = "guest.output";
inline constexpr std::string_view input_log = "guest.input";

/// A watch under way, begun when this was made. Dropped, it is cancelled.
class [[nodiscard]] EventWatch {
public:
    /// \param flags  bits of job_info_protocol::WatchFlag.
    EventWatch(Handle& handle, JobId id, std::string_view path, int flags = 0);

    class Item {
    public:
        Item() = default; // the sentinel
        explicit Item(EventlogEntry event) : event_(std::move(event)) {}
        bool sentinel() const noexcept { return !event_; }
        const EventlogEntry& event() const { return *event_; }

    private:
        std::optional<EventlogEntry> event_;
    };

    class Awaiter {
    public:
        explicit Awaiter(const Stream& stream) : next_(stream.next()) {}
        bool await_ready() const noexcept { return next_.await_ready(); }
        template <class P> bool await_suspend(std::coroutine_handle<P> coroutine) {
            return next_.await_suspend(coroutine);
        }
        std::optional<Item> await_resume();

    private:
        Stream::Awaiter next_;
    };
    /// The next event; nothing at the end of the log. \throws Error ENOENT, EPERM and as Stream::next().
    Awaiter next() const { return Awaiter(stream_); }

private:
    Stream stream_;
};

} // namespace flux::follow
