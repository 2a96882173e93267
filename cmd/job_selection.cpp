#include "cmd/job_selection.hpp"

#include "cmd/select/select.hpp"

#include <flux/job_state.hpp>

#include <fmt/core.h>

namespace flux::cmd {

void select_jobs(joblist::Query& query, const options::Parsed& parsed, bool all_states) {
    query.filter.add(parsed.list("filter"));
    if (parsed.has("a") && parsed.has("filter"))
        fmt::print(stderr, "{}: WARNING: Both -a and --filter specified, ignoring -a\n", parsed.program());
    if (query.filter.empty()) {
        query.filter.states = job_states_pending | job_states_running;
        if (parsed.has("a") || all_states) query.filter.states |= static_cast<int>(JobState::inactive);
    }
    query.userid = select::user_option(parsed);
    if (parsed.has("A") && !parsed.has("user")) query.userid = select::all_users;
}

} // namespace flux::cmd
