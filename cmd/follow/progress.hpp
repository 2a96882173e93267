// The bottom line of the terminal while many jobs are followed: how many of them wait, run and have ended.
#pragma once

#include "cmd/follow/outcome.hpp"

#include <flux/eventlog.hpp>
#include <flux/job_id.hpp>
#include <flux/loop.hpp>

#include <string>
#include <unordered_map>

namespace flux::follow {

class Progress {
public:
    /// Takes the bottom line of the terminal that stdout is.
    /// \param since       seconds since 1970: where the clock begins.
    /// \param throughput  tell ended jobs per second instead of the time.
    Progress(Loop& loop, double since, bool throughput);
    /// Gives it back.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// How many jobs there will be, as far as that is known.
    void expect(std::size_t jobs) { expected_ = jobs; }
    /// Take in an event of a job's main eventlog.
    void on_event(JobId id, const EventlogEntry& event);

    /// The line for a terminal of this width.
    std::string line(std::size_t width, double now) const;

private:
    struct Job {
        Outcome outcome;
        bool running = false;
    };
    void draw();

    Timer clock_;
    double since_;
    bool throughput_;
    std::size_t expected_ = 0;
    std::size_t pending_ = 0, running_ = 0, completed_ = 0, failed_ = 0;
    std::unordered_map<JobId, Job> jobs_; ///< that have not ended
};

} // namespace flux::follow
