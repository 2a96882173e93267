// flux jobs: list jobs (cli.md 6.6).
#include "cmd/context.hpp"
#include "cmd/instances.hpp"
#include "cmd/job_selection.hpp"
#include "cmd/joblist/fields.hpp"
#include "cmd/output/color.hpp"
#include "cmd/output/columns.hpp"
#include "cmd/select/select.hpp"
#include "cmd/time/moment.hpp"

#include <flux/job_list_protocol.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <unistd.h>

namespace flux::cmd {
namespace {

constexpr std::size_t default_count = 1000;
constexpr std::size_t unlimited_levels = 9999;

constexpr output::NamedFormat formats[] = {
    {"default", "Default flux-jobs format string", job_format},
    {"cute", "Cute flux-jobs format string (default with emojis)",
     "{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} {status_emoji:>5.5} {ntasks:>6} {nnodes:>6h} "
     "{contextual_time!F:>8h} {contextual_info}"},
    {"long", "Extended flux-jobs format string", long_job_format},
    {"deps", "Show job urgency, priority, and dependencies", job_dependencies_format},
    {"endreason", "Show why each job ended",
     "{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} {status_abbrev:>2.2} "
     "{t_inactive!d:%b%d %R::>12h} {inactive_reason}"},
};
constexpr output::FormatSource format_source = {
    .base = "flux-jobs", .table = "formats", .environment = "FLUX_JOBS_FORMAT_DEFAULT", .builtins = formats};

class Plan {
public:
    Plan() {}
    output::Format format;
    joblist::Query query;
    std::vector<JobId> ids;
    std::size_t count = default_count;
    std::size_t width = 0;  ///< 0: unlimited
    std::size_t levels = 0; ///< of instances to go down
    bool instances_of_all = false;
    bool with_header = true;
    bool json = false;
    bool color = false;
    bool stats = false;
    bool stats_only = false;
    bool asks_instances = false; ///< the format has fields that they tell
};

std::string_view color_of(const joblist::Job& job) {
    if (job.active()) return job.uri().empty() ? std::string_view() : output::sgr::blue;
    auto status = job.status();
    if (status == "COMPLETED") return output::sgr::green;
    if (status == "CANCELED") return output::sgr::grey;
    return output::sgr::red;
}

Task<joblist::Stats> stats_of(Handle* handle, const Plan* plan) {
    auto answer = co_await handle->call(job_list_protocol::job_stats.topic, Json::object());
    co_return joblist::Stats(answer.json(), plan->query.queues);
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

/// Jobs of an instance, and what they tell of themselves where that was asked for.
class Jobs {
public:
    Jobs(std::vector<Json> answers, double now) : answers_(std::move(answers)), instances_(answers_.size()) {
        for (std::size_t index = 0; index < answers_.size(); ++index)
            jobs.emplace_back(answers_[index], now, &instances_[index]);
        for (const auto& job : jobs) rows.push_back([&job](std::string_view name) { return job.field(name); });
    }
    Jobs(const Jobs&) = delete;
    Jobs& operator=(const Jobs&) = delete;

    Task<> ask_instances(Loop* loop) {
        for (std::size_t index = 0; index < jobs.size(); ++index) {
            auto instance = open_instance(*loop, jobs[index]);
            if (instance) co_await joblist::Instance::ask(instance.get(), &instances_[index]);
        }
    }

    std::vector<joblist::Job> jobs;
    std::vector<output::Row> rows;

private:
    std::vector<Json> answers_;
    std::vector<joblist::Instance> instances_;
};

/// Prints jobs line by line; the width of columns is that of the first jobs.
class Table {
public:
    Table(const Plan& plan, const Jobs& first) : plan_(plan), listing_(plan.format, first.rows, plan.with_header) {
        if (plan.with_header) print(listing_.header(), {});
    }
    void print(const Jobs& jobs) const {
        for (auto index : output::sorted(jobs.rows, plan_.format.sort_keys)) {
            auto line = listing_.line(jobs.rows[index]);
            if (!output::is_blank(line)) print(line, plan_.color ? color_of(jobs.jobs[index]) : std::string_view());
        }
    }

private:
    void print(std::string_view line, std::string_view color) const {
        auto text = plan_.width ? output::cut_marked(line, plan_.width) : std::string(line);
        fmt::print("{}{}\n{}", color, text, color.empty() ? "" : output::sgr::reset);
    }

    const Plan& plan_;
    output::Listing listing_;
};

/// Print the jobs of the instances among some jobs, and of those below them.
class Descent {
public:
    Descent(Loop& loop, const Plan& plan, const Table& table) : loop_(loop), plan_(plan), table_(table) {}

    Task<> from(const Jobs* jobs, std::string path, std::size_t level) {
        if (level >= plan_.levels) co_return;
        for (const auto& job : jobs->jobs) {
            if (!plan_.instances_of_all && job.json()["userid"].try_as<std::uint32_t>() != ::getuid()) continue;
            auto instance = open_instance(loop_, job);
            auto name = path.empty() ? job.id().f58() : path + "/" + job.id().f58();
            if (instance) co_await show(instance.get(), name, level);
        }
    }

private:
    Task<> show(Handle* instance, std::string path, std::size_t level) {
        std::optional<Jobs> jobs;
        joblist::Stats stats;
        try {
            stats = co_await stats_of(instance, &plan_);
            auto answers = co_await joblist::list(instance, &plan_.query);
            jobs.emplace(std::move(answers), moment::parse("now"));
            if (plan_.asks_instances) co_await jobs->ask_instances(&loop_);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error&) {
            co_return; // it is ending
        }
        fmt::print("\n{}:\n{}\n", path, stats.line());
        table_.print(*jobs);
        co_await from(&*jobs, path, level + 1);
    }

    Loop& loop_;
    const Plan& plan_;
    const Table& table_;
};

int print_all(const Plan& plan, std::vector<Json> answers) {
    Jobs jobs(std::move(answers), moment::parse("now"));
    Table(plan, jobs).print(jobs);
    return 0;
}

Task<int> run_plan(Context* context, Plan* plan) {
    auto* handle = &context->handle();
    if (plan->stats || plan->stats_only) {
        auto stats = co_await stats_of(handle, plan);
        fmt::print("{}{}\n", stats.line(),
                   stats.purged > 0 ? fmt::format(", {} inactive purged", stats.purged) : std::string());
        if (plan->stats_only) co_return stats.active() > 0 ? 0 : 1;
    }
    std::vector<Json> answers;
    if (plan->ids.empty())
        answers = co_await joblist::list(handle, &plan->query);
    else
        answers = co_await joblist::list_ids(handle, plan->ids, plan->query.attributes);
    const bool truncated = plan->ids.empty() && plan->count > 0 && answers.size() > plan->count;
    if (truncated) answers.resize(plan->count);

    Jobs jobs(std::move(answers), moment::parse("now"));
    if (plan->asks_instances) co_await jobs.ask_instances(&context->loop());
    if (plan->json) {
        print_json(jobs.jobs, plan->ids.size() == 1);
    } else {
        Table table(*plan, jobs);
        table.print(jobs);
        Descent descent(context->loop(), *plan, table);
        co_await descent.from(&jobs, "", 0);
    }
    if (truncated && plan->with_header)
        fmt::print(stderr,
                   "warning: output truncated at {} jobs.\n"
                   "warning: use the -c, --count option to increase the limit (0 for no limit).\n",
                   plan->count);
    co_return !plan->ids.empty() && jobs.jobs.empty() ? 1 : 0;
}

std::size_t output_width(const options::Parsed& parsed) {
    if (!parsed.has("width")) return 0;
    int width = parsed.number<int>("width", 0);
    if (width != 0) return width < 0 ? 0 : static_cast<std::size_t>(width);
    return terminal_width().value_or(0);
}

void fill_query(joblist::Query& query, const options::Parsed& parsed) {
    if (auto since = parsed.find("since")) {
        auto number = parse_integer<std::int64_t>(*since);
        query.since = number ? static_cast<double>(*number) : moment::parse(*since);
        if (query.since > moment::parse("now")) throw Error(EINVAL, "--since=WHEN must not be in the future");
    }
    select_jobs(query, parsed, parsed.has("since"));
    query.name = parsed.get("name");
    query.queues = parsed.list("queue");
    query.include = parsed.get("include");
    if (!parsed.has("user") && parsed.has("include")) query.userid = select::all_users;
}

std::vector<Json> jobs_of_stdin() {
    std::vector<Json> jobs;
    for (std::string line; std::getline(std::cin, line);) jobs.push_back(Json::parse(line, "stdin"));
    return jobs;
}

int run(Context& context, const options::Parsed& parsed) {
    Plan plan;
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
    plan.instances_of_all = parsed.has("recurse-all");
    if (parsed.has("recursive") || parsed.has("recurse-all") || parsed.has("level"))
        plan.levels = parsed.number<std::size_t>("level", unlimited_levels);
    auto names = plan.format.names();
    plan.asks_instances = std::any_of(names.begin(), names.end(), &joblist::of_instance);
    if (plan.color || plan.levels > 0) names.insert(names.end(), {"status", "uri", "userid"});
    plan.query.attributes = plan.json ? std::vector<std::string>{"all"} : joblist::attributes(names);
    if (parsed.has("from-stdin")) return print_all(plan, jobs_of_stdin());
    return context.run(&run_plan, &context, &plan);
}

using options::Value;
constexpr options::Option own_options[] = {
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
    {.name = "sort", .value = Value::required, .argument = "KEY,...", .help = "Specify sort order"},
    {.name = "suppress-header", .hidden = true, .same_as = "no-header"},
    {.name = "width",
     .key = 'w',
     .value = Value::optional,
     .argument = "N",
     .help = "Truncate long lines to N columns, by default to the width of the terminal"},
    color_row(0),
    {.name = "json", .help = "Emit job list in JSON format"},
    {.name = "stats", .help = "Print job statistics before header"},
    {.name = "stats-only",
     .help = "Print job statistics only and exit. Exits with non-zero status if there are no active jobs."},
    {.name = "recursive", .key = 'R', .help = "List jobs of instances that are jobs, recursively"},
    {.name = "level",
     .key = 'L',
     .value = Value::required,
     .argument = "N",
     .help = "With --recursive, only descend N levels"},
    {.name = "recurse-all", .help = "With --recursive, also descend into instances of other users"},
    {.name = "threads",
     .value = Value::required,
     .argument = "N",
     .help = "Accepted for compatibility",
     .hidden = true},
    {.name = "from-stdin", .help = "Read jobs from stdin, one JSON object a line", .hidden = true},
};
constexpr auto jobs_options = options::join(job_selection_options, own_options, format_options);
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
