// The line that tells a waiting user at a terminal what his job waits for.
#pragma once

#include <flux/eventlog.hpp>
#include <flux/job_id.hpp>
#include <flux/loop.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace flux::follow {

class StatusLine {
public:
    /// \param at_once  from the beginning; otherwise after some seconds, when a user sits at all three streams.
    StatusLine(Loop& loop, JobId id, bool at_once);

    /// Take in an event of the main eventlog.
    void on_event(const EventlogEntry& event);
    /// Make room for other output; the line comes back by itself.
    void clear();

private:
    void draw();

    JobId id_;
    std::unique_ptr<Timer> timer_; // none: never shown
    std::string_view text_;
    double t_submit_ = 0;
    bool drawn_ = false;
};

} // namespace flux::follow
