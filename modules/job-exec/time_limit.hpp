// When the time of a job is up (jobs.md 9.8).
#pragma once

#include <flux/json.hpp>

namespace flux::job_exec {

class TimeLimit {
public:
    /// \param execution  of R
    explicit TimeLimit(JsonView execution)
        : start(execution["starttime"].try_as<double>().value_or(0)),
          expiration(execution["expiration"].try_as<double>().value_or(0)) {}
    /// Seconds by which a job that begins at `now` gets a later expiration: what was lost is made good when it is more
    /// than `percent` of the time it was given.
    double delay(double now, double percent) const noexcept {
        if (expiration == 0 || start == 0 || now <= start) return 0;
        auto late = now - start;
        return late > (expiration - start) * percent / 100 ? late : 0;
    }

    double start;
    double expiration; ///< seconds since 1970; 0: none
};

} // namespace flux::job_exec
