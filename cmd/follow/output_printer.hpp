// Prints the output of a job as its `guest.output` log tells it (RFC 24).
#pragma once

#include <flux/eventlog.hpp>

#include <cstdio>
#include <string>

namespace flux::follow {

class OutputPrinter {
public:
    OutputPrinter(FILE* out, FILE* err) : out_(out), err_(err) {}

    /// Put the task rank before each line.
    void label_ranks(bool on) { label_ = on; }
    /// Put this before everything.
    void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
    /// Do not tell of redirected streams.
    void be_quiet(bool on) { quiet_ = on; }
    /// Tell where in the shell's code a log message was made.
    void be_verbose(bool on) { verbose_ = on; }
    /// Where times in log messages begin.
    void set_time_base(double timestamp) { time_base_ = timestamp; }
    /// Print the streams of task 0 no more: a terminal shows them.
    void skip_first_task(bool on) { skip_first_task_ = on; }

    /// Take in an event of the log.
    void print(const EventlogEntry& event);

private:
    void print_data(JsonView context);
    void print_redirect(JsonView context);
    void print_log(const EventlogEntry& event);

    FILE* out_;
    FILE* err_;
    std::string prefix_;
    double time_base_ = 0;
    bool label_ = false;
    bool quiet_ = false;
    bool verbose_ = false;
    bool skip_first_task_ = false;
};

} // namespace flux::follow
