// flux pgrep, flux pkill: find jobs by name or id, or cancel them (cli.md 6.8).
#include "cmd/context.hpp"
#include "cmd/follow/event_watch.hpp"
#include "cmd/job_selection.hpp"
#include "cmd/joblist/fields.hpp"
#include "cmd/select/select.hpp"
#include "cmd/time/moment.hpp"

#include <flux/job_manager_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <regex>

namespace flux::cmd {
namespace {

constexpr std::size_t default_entries = 1000;
constexpr std::size_t default_count = 99999;
constexpr int nothing_found = 1;
constexpr int bad_expression = 2;

constexpr std::string_view id_format = "{id.f58}";
constexpr output::NamedFormat formats[] = {
    {"default", "Default flux-pgrep format string", id_format},
    {"full", "Full flux-jobs format", job_format},
    {"long", "Extended flux-jobs format", long_job_format},
    {"deps", "Show job urgency, priority, and dependencies", job_dependencies_format},
};
constexpr output::FormatSource format_source = {
    .base = "flux-jobs", .table = "formats", .environment = "FLUX_PGREP_FORMAT_DEFAULT", .builtins = formats};

/// `REGEX`, `name:REGEX`, `ID1..ID2`; a job has to fit them all.
class Expression {
public:
    /// \throws Exit when one of them is wrong
    explicit Expression(const options::Parsed& parsed) {
        if (parsed.operands().empty()) throw parsed.usage_error("the following arguments are required: expression");
        for (const auto& word : parsed.operands()) {
            try {
                add(word);
            } catch (const Error& error) {
                throw options::Exit{bad_expression, {}, parsed.failure_line(error.what())};
            }
        }
    }

    bool matches(const joblist::Job& job) const {
        auto id = job.id();
        for (const auto& range : ranges_)
            if (id < range.first || range.second < id) return false;
        return !name_ || std::regex_search(output::to_text(job.field("name")), *name_);
    }

private:
    void add(std::string_view word) {
        constexpr std::string_view prefix = "name:", between = "..";
        if (auto dots = word.find(between); dots != word.npos) {
            auto first = JobId::try_parse(word.substr(0, dots));
            auto last = JobId::try_parse(word.substr(dots + between.size()));
            if (first && last) return ranges_.push_back({*first, *last});
        }
        if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
        if (name_) throw Error(EINVAL, "Only one name pattern is allowed");
        try {
            name_.emplace(std::string(word));
        } catch (const std::regex_error& error) {
            throw Error(EINVAL, fmt::format("Error parsing regex '{}': {}", word, error.what()));
        }
    }

    std::vector<std::pair<JobId, JobId>> ranges_;
    std::optional<std::regex> name_;
};

class Plan {
public:
    Plan() {}
    std::size_t count = default_count;
    joblist::Query query;
};

Plan plan_of(const options::Parsed& parsed) {
    Plan plan;
    plan.count = parsed.number<std::size_t>("count", default_count);
    select_jobs(plan.query, parsed);
    plan.query.queues = parsed.list("queue");
    plan.query.max_entries = parsed.number<std::size_t>("max-entries", default_entries);
    return plan;
}

Task<int> find(Handle* handle, const Plan* plan, const Expression* expression, std::vector<Json>* found) {
    const auto now = moment::parse("now");
    auto answers = co_await joblist::list(handle, &plan->query);
    for (auto& answer : answers) {
        if (found->size() == plan->count) break;
        if (expression->matches(joblist::Job(answer, now))) found->push_back(std::move(answer));
    }
    co_return found->empty() ? nothing_found : 0;
}

int run_pgrep(Context& context, const options::Parsed& parsed) {
    auto format = choose_format(format_source, parsed, &joblist::heading);
    if (!format) return 0;
    Expression expression(parsed);
    auto plan = plan_of(parsed);
    // Ids alone are for scripts.
    const char* other = std::getenv(std::string(format_source.environment).c_str());
    const bool ids_only = parsed.get("format", other && *other ? other : "default") == "default";
    auto names = format->names();
    names.push_back("name");
    plan.query.attributes = joblist::attributes(names);
    std::vector<Json> found;
    int code = context.run(&find, &context.handle(), &plan, &expression, &found);
    if (found.empty()) return code;
    const auto now = moment::parse("now");
    std::vector<output::Row> rows;
    for (const auto& json : found)
        rows.push_back([&json, now](std::string_view name) { return joblist::Job(json, now).field(name); });
    print_listing(*format, rows, !ids_only && !parsed.has("no-header"));
    return code;
}

Task<> wait_for_end(Handle* handle, JobId id) {
    follow::EventWatch watch(*handle, id, follow::main_log);
    while (co_await watch.next()) {}
}

Task<int> cancel(Handle* handle, const options::Parsed* parsed, const std::vector<Json>* found) {
    std::vector<Call> calls;
    for (const auto& job : *found)
        calls.push_back(handle->call(job_manager_protocol::raise.topic,
                                     Json::object("id", job.get<JobId>("id"), "type", "cancel", "severity", 0)));
    int code = 0;
    std::size_t canceled = 0;
    std::vector<JobId> ending;
    for (std::size_t index = 0; index < calls.size(); ++index) {
        auto id = (*found)[index].get<JobId>("id");
        try {
            co_await calls[index];
            ++canceled;
            ending.push_back(id);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            fmt::print(stderr, "{}", parsed->failure_line(id.f58() + ": " + error.what()));
            code = options::exit_code::failure;
        }
    }
    fmt::print(stderr, "flux-pkill: INFO: Canceled {} job{}\n", canceled, canceled == 1 ? "" : "s");
    if (!parsed->has("wait")) co_return code;
    for (auto id : ending) co_await wait_for_end(handle, id);
    co_return code;
}

int run_pkill(Context& context, const options::Parsed& parsed) {
    Expression expression(parsed);
    auto plan = plan_of(parsed);
    plan.query.attributes = {"name"};
    std::vector<Json> found;
    int code = context.run(&find, &context.handle(), &plan, &expression, &found);
    if (found.empty()) return code;
    return context.run(&cancel, &context.handle(), &parsed, &found);
}

using options::Value;
constexpr options::Option search_options[] = {
    {.name = "queue",
     .key = 'q',
     .value = Value::required,
     .argument = "QUEUE,...",
     .help = "Limit to specific queue or queues"},
    {.name = "count", .key = 'c', .value = Value::required, .argument = "N", .help = "Limit to the first N matches"},
    {.name = "max-entries",
     .value = Value::required,
     .argument = "N",
     .help = "Limit the number of searched jobs to N (default 1000)"},
};
constexpr options::Option pkill_only[] = {
    {.name = "wait", .key = 'w', .help = "Wait for the jobs to end"},
};
constexpr auto pgrep_options = options::join(job_selection_options, search_options, format_options);
constexpr auto pkill_options = options::join(job_selection_options, search_options, pkill_only);
static_assert(options::consistent(pgrep_options) && options::consistent(pkill_options));

} // namespace

extern const options::Command cmd_pgrep;
const options::Command cmd_pgrep{.name = "pgrep",
                                 .program = "flux-pgrep",
                                 .synopsis = "[OPTIONS] EXPRESSION...",
                                 .help = "Find jobs by name or range of ids",
                                 .options = pgrep_options,
                                 .family = options::Family::listing,
                                 .run = &run_pgrep};

extern const options::Command cmd_pkill;
const options::Command cmd_pkill{.name = "pkill",
                                 .program = "flux-pkill",
                                 .synopsis = "[OPTIONS] EXPRESSION...",
                                 .help = "Cancel jobs by name or range of ids",
                                 .options = pkill_options,
                                 .family = options::Family::listing,
                                 .run = &run_pkill};

} // namespace flux::cmd
