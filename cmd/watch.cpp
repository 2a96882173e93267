// flux watch: follow the output and the ends of several jobs (cli.md 6.9).
#include "cmd/bulk.hpp"
#include "cmd/joblist/query.hpp"
#include "cmd/select/select.hpp"
#include "cmd/time/moment.hpp"

#include <flux/job_state.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <unistd.h>

namespace flux::cmd {
namespace {

class Plan {
public:
    Plan() {}
    joblist::Query query;
    std::vector<JobId> ids;
    follow::MonitorOptions monitor;
    const options::Parsed* parsed = nullptr;
};

Task<int> watch(Context* context, Plan* plan) {
    auto& handle = context->handle();
    auto begin = co_await handle.get_attr("broker.starttime");
    std::vector<Json> jobs;
    if (plan->ids.empty())
        jobs = co_await joblist::list(&handle, &plan->query);
    else
        jobs = co_await joblist::list_ids(&handle, plan->ids, plan->query.attributes);
    if (jobs.empty()) {
        fmt::print(stderr, "flux-watch: INFO: No matching jobs\n");
        co_return 0;
    }
    if (plan->monitor.verbose > 0) fmt::print(stderr, "flux-watch: INFO: Watching {} jobs\n", jobs.size());
    auto report = [plan](const Error& error) { fmt::print(stderr, "{}", plan->parsed->failure_line(error.what())); };
    follow::Monitors monitors(handle, context->scope(), report);
    monitors.show(make_progress(context->loop(), *plan->parsed, std::stod(begin.value_or("0"))));
    monitors.expect(jobs.size());
    for (const auto& job : jobs) monitors.add(job.get<JobId>("id"), plan->monitor);
    co_return co_await monitors.ended();
}

double since_option(const options::Parsed& parsed) {
    auto text = parsed.find("since");
    if (!text) return 0;
    double since = 0;
    try {
        auto number = parse_integer<std::int64_t>(*text);
        since = number ? static_cast<double>(*number) : moment::parse(*text);
    } catch (const Error& error) {
        throw parsed.usage_error(std::string("argument --since: ") + error.what());
    }
    if (since > moment::parse("now")) throw parsed.usage_error("argument --since: must not be in the future");
    return since;
}

int run(Context& context, const options::Parsed& parsed) {
    Plan plan;
    plan.parsed = &parsed;
    plan.ids = select::job_ids(parsed);
    plan.query.userid = ::getuid();
    plan.query.attributes = {"state", "result", "t_submit"};
    plan.query.max_entries = parsed.number<std::size_t>("count", 0);
    plan.query.since = since_option(parsed);
    auto& filter = plan.query.filter;
    filter.add(parsed.list("filter"));
    if (parsed.has("active")) filter.states |= job_states_active;
    if (parsed.has("all") || (parsed.has("since") && filter.empty()))
        filter.states |= job_states_active | static_cast<int>(JobState::inactive);
    if (plan.ids.empty() && filter.empty()) throw Error(EINVAL, "At least one job selection option is required");
    plan.monitor.output = true;
    plan.monitor.label_io = parsed.has("label-io");
    plan.monitor.verbose = parsed.count("verbose");
    return context.run(&watch, &context, &plan);
}

using options::Value;
constexpr options::Option watch_options[] = {
    {.name = "active", .key = 'a', .help = "Watch all running and pending jobs"},
    {.name = "all", .key = 'A', .help = "Watch all jobs"},
    {.name = "count", .key = 'c', .value = Value::required, .argument = "N", .help = "Limit to N jobs (default: all)"},
    {.name = "since",
     .value = Value::required,
     .argument = "WHEN",
     .help = "Limit to jobs active since WHEN (implies -A if no other --filter option is specified)"},
    {.name = "filter",
     .key = 'f',
     .value = Value::required,
     .argument = "STATE|RESULT",
     .help = "Watch jobs with specific job state or result"},
    {.name = "progress", .help = "Show a progress bar"},
    {.name = "jps", .help = "With --progress, show throughput"},
    {.name = "label-io", .key = 'l', .help = "Label lines of output by job and task"},
    {.name = "verbose", .key = 'v', .help = "Increase verbosity"},
};
static_assert(options::consistent(watch_options));

} // namespace

extern const options::Command cmd_watch;
const options::Command cmd_watch{.name = "watch",
                                 .program = "flux-watch",
                                 .synopsis = "[OPTIONS] [JOBID...]",
                                 .help = "Monitor one or more jobs",
                                 .options = watch_options,
                                 .family = options::Family::listing,
                                 .run = &run};

} // namespace flux::cmd
