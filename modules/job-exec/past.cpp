#include "past.hpp"

#include <flux/eventlog.hpp>

#include <algorithm>

namespace flux::job_exec {

void read_exec_eventlog(std::string_view text, Past& past) {
    for (const auto& event : decode_eventlog(text)) {
        if (event.name == "init")
            past.begun = true;
        else if (event.name == "shell-exit")
            past.leader_exited = true;
        else if (event.name == "critical-ranks")
            past.critical = event.context["ranks"].try_as<Idset>();
        else if (event.name == "complete")
            past.complete = event.context["status"].try_as<int>();
        else if (event.name == "done")
            past.done = true;
    }
}

void read_job_eventlog(std::string_view text, double wall, Time now, Past& past) {
    // A clock that was set back must not make the past the future.
    auto time_of = [&](const EventlogEntry& event) { return now - to_duration(std::max(wall - event.timestamp, 0.0)); };
    for (const auto& event : decode_eventlog(text)) {
        if (event.name == "start") {
            past.started = true;
            past.started_at = time_of(event);
        } else if (event.name == "exception" && !past.fatal && event.context["severity"].try_as<int>() == 0) {
            past.fatal = true;
            past.fatal_at = time_of(event);
            past.fatal_type = event.context["type"].try_as<std::string>().value_or("");
            past.fatal_wait_status = event.context["wait_status"].try_as<int>();
        }
    }
}

} // namespace flux::job_exec
