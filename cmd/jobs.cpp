// flux jobs: list jobs (cli.md 6.6).
#include "cmd/context.hpp"
#include "cmd/formats.hpp"
#include "cmd/joblist/fields.hpp"
#include "cmd/joblist/query.hpp"
#include "cmd/output/color.hpp"
#include "cmd/output/columns.hpp"
#include "cmd/select/select.hpp"
#include "cmd/time/moment.hpp"

#include <flux/job_state.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <sys/ioctl.h>
#include <unistd.h>

namespace flux::cmd {
namespace {

constexpr std::size_t default_count = 1000;

#define COMMON "{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} "
constexpr output::NamedFormat formats[] = {
    {"default", "Default flux-jobs format string",
     COMMON "{status_abbrev:>2.2} {ntasks:>6} {nnodes:>6h} {contextual_time!F:>8h} {contextual_info}"},
    {"cute", "Cute flux-jobs format string (default with emojis)",
     COMMON "{status_emoji:>5.5} {ntasks:>6} {nnodes:>6h} {contextual_time!F:>8h} {contextual_info}"},
    {"long", "Extended flux-jobs format string",
     COMMON "{status:>9.9} {ntasks:>6} {nnodes:>6h} {t_submit!d:%b%d %R::>12} {t_remaining!F:>12h} "
            "{contextual_time!F:>8h} {contextual_info}"},
    {"deps", "Show job urgency, priority, and dependencies",
     "{id.f58:>12} ?:{queue:<8.8} {name:<10.10+} {urgency:<3} {priority:<12} {state:<8.8} {dependencies}"},
    {"endreason", "Show why each job ended",
     COMMON "{status_abbrev:>2.2} {t_inactive!d:%b%d %R::>12h} {inactive_reason}"},
};
#undef COMMON
constexpr output::FormatSource format_source = {
    .base = "flux-jobs", .table = "formats", .environment = "FLUX_JOBS_FORMAT_DEFAULT", .builtins = formats};

class Plan {
public:
    Plan() {}
    output::Format format;
    joblist::Query query;
    std::vector<JobId> ids;
    std::size_t count = default_count;
    std::size_t width = 0; ///< 0: unlimited
    bool with_header = true;
    bool json = false;
    bool color = false;
    bool stats = false;
    bool stats_only = false;
    const options::Parsed* parsed = nullptr;
};

std::string_view color_of(const joblist::Job& job) {
    if (job.active()) return job.uri().empty() ? std::string_view() : output::sgr::blue;
    auto status = job.status();
    if (status == "COMPLETED") return output::sgr::green;
    if (status == "CANCELED") return output::sgr::grey;
    return output::sgr::red;
}

/// The line of counts. \returns the number of active jobs.
Task<int> print_stats(Handle* handle, const Plan* plan) {
    auto answer = co_await handle->call("job-list.job-stats", Json::object());
    std::vector<JsonView> parts;
    if (plan->query.queues.empty()) parts.push_back(answer.json());
    for (const auto& name : plan->query.queues) {
        std::size_t before = parts.size();
        for (auto queue : answer.json()["queues"].elements())
            if (queue["name"].try_as<std::string_view>() == name) parts.push_back(queue);
        if (parts.size() == before) throw Error(ENOENT, "no stats available for queue " + name);
    }
    auto sum = [&](std::initializer_list<const char*> keys) {
        int total = 0;
        for (auto part : parts)
            for (const char* key : keys) total += part.find(key).try_as<int>().value_or(0);
        return total;
    };
    int running = sum({"job_states.run", "job_states.cleanup"});
    int pending = sum({"job_states.depend", "job_states.priority", "job_states.sched"});
    int purged = sum({"inactive_purged"});
    fmt::print("{} running, {} completed, {} failed, {} pending{}\n", running, sum({"successful"}),
               sum({"failed", "canceled", "timeout"}), pending,
               purged > 0 ? fmt::format(", {} inactive purged", purged) : "");
    co_return running + pending;
}

void print_json(const std::vector<joblist::Job>& jobs, bool one) {
    if (one && jobs.size() == 1) {
        fmt::print("{}\n", joblist::to_json(jobs[0]).dump());
        return;
    }
    auto list = Json::array();
    for (const auto& job : jobs) list.append(joblist::to_json(job));
    fmt::print("{}\n", Json::object("jobs", std::move(list)).dump());
}

void print_table(const Plan& plan, const std::vector<joblist::Job>& jobs) {
    std::vector<output::Row> rows;
    for (const auto& job : jobs) rows.push_back([&job](std::string_view name) { return job.field(name); });
    print_listing(plan.format, rows, plan.with_header, [&](std::string_view line, std::optional<std::size_t> index) {
        auto text = plan.width ? output::cut_marked(line, plan.width) : std::string(line);
        auto color = plan.color && index ? color_of(jobs[*index]) : std::string_view();
        fmt::print("{}{}\n{}", color, text, color.empty() ? "" : output::sgr::reset);
    });
}

Task<int> run_plan(Handle* handle, Plan* plan) {
    if (plan->stats || plan->stats_only) {
        int active = co_await print_stats(handle, plan);
        if (plan->stats_only) co_return active > 0 ? 0 : 1;
    }
    std::vector<Json> answers;
    if (plan->ids.empty())
        answers = co_await joblist::list(handle, &plan->query);
    else
        answers = co_await joblist::list_ids(handle, plan->ids, plan->query.attributes);
    const bool truncated = plan->ids.empty() && plan->count > 0 && answers.size() > plan->count;
    if (truncated) answers.resize(plan->count);

    const auto now = moment::parse("now");
    std::vector<joblist::Job> jobs;
    for (const auto& answer : answers) jobs.emplace_back(answer, now);
    if (plan->json)
        print_json(jobs, plan->ids.size() == 1);
    else
        print_table(*plan, jobs);
    if (truncated && plan->with_header)
        fmt::print(stderr,
                   "warning: output truncated at {} jobs.\n"
                   "warning: use the -c, --count option to increase the limit (0 for no limit).\n",
                   plan->count);
    co_return !plan->ids.empty() && jobs.empty() ? 1 : 0;
}

std::size_t output_width(const options::Parsed& parsed) {
    if (!parsed.has("width")) return 0;
    int width = parsed.number<int>("width", 0);
    if (width != 0) return width < 0 ? 0 : static_cast<std::size_t>(width);
    winsize size{};
    if (::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) return size.ws_col;
    return 0;
}

void fill_query(joblist::Query& query, const options::Parsed& parsed) {
    query.filter.add(parsed.list("filter"));
    if (parsed.has("a") && parsed.has("filter"))
        fmt::print(stderr, "flux-jobs: WARNING: Both -a and --filter specified, ignoring -a\n");
    if (auto since = parsed.find("since")) {
        auto number = parse_integer<std::int64_t>(*since);
        query.since = number ? static_cast<double>(*number) : moment::parse(*since);
        if (query.since > moment::parse("now")) throw Error(EINVAL, "--since=WHEN must not be in the future");
    }
    if (query.filter.empty()) {
        query.filter.states = job_states_pending | job_states_running;
        if (parsed.has("a") || parsed.has("since")) query.filter.states |= static_cast<int>(JobState::inactive);
    }
    query.name = parsed.get("name");
    query.queues = parsed.list("queue");
    query.include = parsed.get("include");
    query.userid = select::user_option(parsed);
    if (!parsed.has("user") && (parsed.has("A") || parsed.has("include"))) query.userid = select::all_users;
}

int run(Context& context, const options::Parsed& parsed) {
    Plan plan;
    plan.parsed = &parsed;
    plan.json = parsed.has("json");
    plan.stats = parsed.has("stats");
    plan.stats_only = parsed.has("stats-only");
    if (plan.json && (plan.stats || plan.stats_only))
        throw Error(EINVAL, "--stats and --stats-only are incompatible with --json");
    std::optional<output::Format> format;
    try {
        format = choose_format(format_source, parsed, &joblist::heading);
    } catch (const Error& error) {
        throw parsed.get("format").find('{') == std::string_view::npos ? error
                                                                       : error.while_doing("Error in user format");
    }
    if (!format) return 0;
    plan.format = *std::move(format);
    if (auto sort = parsed.find("sort")) plan.format.sort_keys = output::parse_sort_keys(*sort, &joblist::heading);
    plan.ids = select::job_ids(parsed);
    if (!plan.ids.empty() && (parsed.has("a") || parsed.has("A") || parsed.has("filter") || parsed.has("user")))
        fmt::print(stderr, "flux-jobs: WARNING: Filtering options ignored with jobid list\n");
    plan.count = parsed.number<std::size_t>("count", default_count);
    plan.width = output_width(parsed);
    plan.with_header = !parsed.has("no-header");
    plan.color = choose_color(parsed);
    fill_query(plan.query, parsed);
    plan.query.max_entries = plan.count > 0 ? plan.count + 1 : 0;
    auto names = plan.format.names();
    if (plan.color) names.insert(names.end(), {"status", "uri"});
    plan.query.attributes = plan.json ? std::vector<std::string>{"all"} : joblist::attributes(names);
    return context.run(&run_plan, &context.handle(), &plan);
}

using options::Value;
constexpr options::Option jobs_options[] = {
    {.key = 'a', .help = "List jobs in all states"},
    {.key = 'A', .help = "List all jobs for all users"},
    {.name = "user",
     .key = 'u',
     .value = Value::required,
     .argument = "USER",
     .help = "Limit output to specific username or userid (Specify \"all\" for all users)"},
    {.name = "filter",
     .key = 'f',
     .value = Value::required,
     .argument = "STATE|RESULT",
     .help = "List jobs with specific job state or result"},
    {.name = "since",
     .value = Value::required,
     .argument = "WHEN",
     .help =
         "Include jobs that have become inactive since WHEN. (implies -a if no other --filter option is specified)"},
    {.name = "count",
     .key = 'c',
     .value = Value::required,
     .argument = "N",
     .help = "Limit output to N jobs(default 1000)"},
    {.name = "name", .value = Value::required, .argument = "JOB-NAME", .help = "Limit output to specific job name"},
    {.name = "queue",
     .key = 'q',
     .value = Value::required,
     .argument = "QUEUE,...",
     .help = "Limit output to specific queue or queues"},
    {.name = "include",
     .key = 'i',
     .value = Value::required,
     .argument = "HOSTS|RANKS",
     .help = "Limit output to jobs that were allocated to the specified HOSTS or RANKS"},
    {.name = "format",
     .key = 'o',
     .value = Value::required,
     .argument = "FORMAT",
     .help = "Specify output format using Python's string format syntax or a defined format by name (use 'help' to get "
             "a list of names)"},
    {.name = "sort", .value = Value::required, .argument = "KEY,...", .help = "Specify sort order"},
    {.name = "no-header", .key = 'n', .help = "Suppress printing of header line"},
    {.name = "suppress-header", .hidden = true, .same_as = "no-header"},
    {.name = "width",
     .key = 'w',
     .value = Value::optional,
     .argument = "N",
     .help = "Truncate long lines to N columns, by default to the width of the terminal"},
    {.name = "color",
     .value = Value::optional,
     .argument = "WHEN",
     .help = "Colorize output; WHEN can be 'never', 'always', or 'auto' (default: auto)"},
    {.name = "json", .help = "Emit job list in JSON format"},
    {.name = "stats", .help = "Print job statistics before header"},
    {.name = "stats-only",
     .help = "Print job statistics only and exit. Exits with non-zero status if there are no active jobs."},
};
static_assert(options::consistent(jobs_options));

} // namespace

extern const options::Command cmd_jobs;
const options::Command cmd_jobs{.name = "jobs",
                                .program = "flux-jobs",
                                .synopsis = "[OPTIONS] [JOBID...]",
                                .help = "List jobs",
                                .options = jobs_options,
                                .family = options::Family::listing,
                                .run = &run};

} // namespace flux::cmd
