// What commands that list or search jobs have in common: which jobs, and how they look.
#pragma once

#include "cmd/formats.hpp"
#include "cmd/joblist/query.hpp"
#include "cmd/options/parse.hpp"

namespace flux::cmd {

inline constexpr options::Option job_selection_options[] = {
    {.key = 'a', .help = "Target jobs in all states"},
    {.key = 'A', .help = "Target jobs of all users"},
    {.name = "user",
     .key = 'u',
     .value = options::Value::required,
     .argument = "USER",
     .help = "Limit to specific username or userid (Specify \"all\" for all users)"},
    {.name = "filter",
     .key = 'f',
     .value = options::Value::required,
     .argument = "STATE|RESULT",
     .help = "Limit to jobs with specific job state or result"},
};

/// Users and states of a query as job_selection_options tell: by default what waits and runs of the caller's.
/// \param all_states  jobs in all states, unless there is a filter.
/// \throws Error
void select_jobs(joblist::Query& query, const options::Parsed& parsed, bool all_states = false);

inline constexpr std::string_view job_format =
    "{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} {status_abbrev:>2.2} {ntasks:>6} {nnodes:>6h} "
    "{contextual_time!F:>8h} {contextual_info}";
inline constexpr std::string_view long_job_format =
    "{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} {status:>9.9} {ntasks:>6} {nnodes:>6h} "
    "{t_submit!d:%b%d %R::>12} {t_remaining!F:>12h} {contextual_time!F:>8h} {contextual_info}";
inline constexpr std::string_view job_dependencies_format =
    "{id.f58:>12} ?:{queue:<8.8} {name:<10.10+} {urgency:<3} {priority:<12} {state:<8.8} {dependencies}";

} // namespace flux::cmd
