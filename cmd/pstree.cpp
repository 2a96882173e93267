// flux pstree: jobs, and the jobs of those that are instances, as a tree (cli.md 6.11).
#include "cmd/context.hpp"
#include "cmd/instances.hpp"
#include "cmd/job_selection.hpp"
#include "cmd/output/columns.hpp"
#include "cmd/select/select.hpp"
#include "cmd/time/moment.hpp"
#include "cmd/uri/resolve.hpp"

#include <flux/job_state.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

namespace flux::cmd {
namespace {

constexpr std::size_t default_count = 1000;
constexpr std::size_t width_unless_terminal = 132;
constexpr unsigned unlimited_levels = 9999;

struct Details {
    std::string_view name;
    std::string_view format;
};
constexpr Details details[] = {
    {"default", "{id.f58:>12} {username:<8.8} {status_abbrev:>2.2} {ntasks:>6h} {nnodes:>6h} {runtime!F:>8h}"},
    {"resources", "{id.f58:>12} {instance.resources.all.nnodes:>5} {instance.resources.allocated.nnodes:>5} "
                  "{instance.resources.all.ncores:>5} {instance.resources.allocated.ncores:>5} "
                  "{instance.resources.all.ngpus:>5} {instance.resources.allocated.ngpus:>5}"},
    {"progress", "{id.f58:>12} {ntasks:>6h} {instance.stats.total:>6} {instance.progress!P:>5} "
                 "{instance.utilization!P:>5} {instance.gpu_utilization!P:>5} {runtime!H:>10}"},
    {"stats", "{id.f58:>12} {instance.stats:^25} {runtime!H:>10}"},
};

struct Style {
    std::string_view pass, branch, last;
};
constexpr Style box{"│   ", "├── ", "└── "}, ascii{"|   ", "|-- ", "`-- "}, compact{"│ ", "├─", "└─"};

class Node {
public:
    explicit Node(Json json) : json(std::move(json)) {}
    Json json; ///< of the job; null: the instance that is asked, which is no job that we know
    joblist::Instance instance;
    bool is_instance = false;
    std::size_t copies = 1;
    std::vector<std::unique_ptr<Node>> children;

    output::Value field(std::string_view name, double now) const {
        if (!json.is_null()) return joblist::Job(json, now, &instance).field(name);
        if (name == "name" || name.starts_with("id")) return std::string(".");
        if (joblist::of_instance(name)) return instance.field(name.substr(name.find('.') + 1));
        return output::Absent();
    }
};

class Plan {
public:
    Plan() {}
    joblist::Query query;
    std::vector<JobId> ids;
    output::Format label, parent_label;
    std::optional<output::Format> details;
    bool asks_instances = false;
    bool skip_root = false;
    bool combine = true;
    bool with_header = true;
    unsigned levels = unlimited_levels;
    std::size_t width = 0; ///< 0: unlimited
    Style style = box;
};

// Finding -------------------------------------------------------------------------------------------------------

class Forest {
public:
    Forest(Loop& loop, const Plan& plan) : loop_(loop), plan_(plan) {}

    /// Everything below the instance that a handle leads to.
    Task<> fill(Handle* handle, Node* root) {
        root->is_instance = true;
        if (plan_.asks_instances) co_await joblist::Instance::ask(handle, &root->instance);
        if (!plan_.ids.empty()) {
            auto answers = co_await joblist::list_ids(handle, plan_.ids, plan_.query.attributes);
            for (auto& answer : answers) root->children.push_back(std::make_unique<Node>(std::move(answer)));
        } else {
            co_await list(handle, root);
        }
        for (auto& child : root->children) co_await descend(child.get(), 1);
    }

private:
    Task<> list(Handle* handle, Node* node) {
        auto answers = co_await joblist::list(handle, &plan_.query);
        for (auto& answer : answers) node->children.push_back(std::make_unique<Node>(std::move(answer)));
    }

    Task<> descend(Node* node, unsigned level) {
        auto instance = open_instance(loop_, joblist::Job(node->json, 0));
        if (!instance) co_return;
        node->is_instance = true;
        if (plan_.asks_instances) co_await joblist::Instance::ask(instance.get(), &node->instance);
        if (level >= plan_.levels) co_return;
        try {
            co_await list(instance.get(), node);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error&) {
            co_return; // it is ending
        }
        for (auto& child : node->children) co_await descend(child.get(), level + 1);
    }

    Loop& loop_;
    const Plan& plan_;
};

/// The job that this instance is in the one above it, if there is one.
Task<Json> own_job(Context* context, std::vector<std::string> attributes) {
    auto& handle = context->handle();
    auto id = co_await handle.get_attr("jobid");
    auto parent = co_await handle.get_attr("parent-uri");
    if (!id || !parent) co_return Json();
    try {
        auto above = Handle::open(context->loop(), uri::reachable(*parent));
        auto request = Json::object("id", JobId::parse(*id), "attrs", attributes);
        auto answer = co_await above->call("job-list.list-id", std::move(request));
        co_return answer.json().get<JsonView>("job").copy();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        co_return Json(); // its name is not known then
    }
}

// Printing ------------------------------------------------------------------------------------------------------

class Printer {
public:
    explicit Printer(const Plan& plan) : plan_(plan), now_(moment::parse("now")) {}

    void print(Node& root) {
        if (plan_.skip_root) {
            merge(root);
            for (const auto& child : root.children) add(*child, "", "");
        } else {
            add(root, "", "");
        }
        std::optional<output::Listing> listing;
        if (plan_.details) listing.emplace(*plan_.details, rows_, plan_.with_header);
        if (listing && plan_.with_header) fmt::print("{}\n", listing->header());
        for (std::size_t index = 0; index < lines_.size(); ++index) {
            auto line = listing ? listing->line(rows_[index]) + " " + lines_[index] : lines_[index];
            fmt::print("{}\n", plan_.width ? output::cut_marked(line, plan_.width) : line);
        }
    }

private:
    std::string label(const Node& node) const {
        auto row = row_of(node);
        const auto& format = node.is_instance ? plan_.parent_label : plan_.label;
        return output::Listing(format, std::span(&row, 1), false).line(row);
    }

    output::Row row_of(const Node& node) const {
        return [&node, now = now_](std::string_view name) { return node.field(name, now); };
    }

    /// Make one of leaves that look alike.
    void merge(Node& node) const {
        if (!plan_.combine) return;
        std::vector<std::unique_ptr<Node>> kept;
        std::vector<std::pair<std::string, Node*>> leaves;
        for (auto& child : node.children) {
            if (!child->is_instance) {
                auto text = label(*child);
                auto same =
                    std::find_if(leaves.begin(), leaves.end(), [&](const auto& leaf) { return leaf.first == text; });
                if (same != leaves.end()) {
                    ++same->second->copies;
                    continue;
                }
                leaves.emplace_back(std::move(text), child.get());
            }
            kept.push_back(std::move(child));
        }
        node.children = std::move(kept);
    }

    void add(Node& node, const std::string& prefix, std::string_view connector) {
        auto text = label(node);
        if (node.copies > 1) text = fmt::format("{}*[{}]", node.copies, text);
        lines_.push_back(fmt::format("{}{}{}", prefix, connector, text));
        rows_.push_back(row_of(node));
        merge(node);
        auto deeper = prefix;
        if (connector == plan_.style.branch) deeper += plan_.style.pass;
        if (connector == plan_.style.last) deeper.append(output::columns(plan_.style.pass), ' ');
        for (const auto& child : node.children)
            add(*child, deeper, child == node.children.back() ? plan_.style.last : plan_.style.branch);
    }

    const Plan& plan_;
    double now_;
    std::vector<std::string> lines_;
    std::vector<output::Row> rows_;
};

Task<int> show(Context* context, const Plan* plan) {
    auto job = co_await own_job(context, plan->query.attributes);
    Node root(std::move(job));
    Forest forest(context->loop(), *plan);
    co_await forest.fill(&context->handle(), &root);
    Printer(*plan).print(root);
    co_return !plan->ids.empty() && root.children.empty() ? 1 : 0;
}

std::string_view details_format(const options::Parsed& parsed) {
    if (auto given = parsed.find("detail-format")) return *given;
    auto name = parsed.get("details", "default");
    for (const auto& known : details)
        if (known.name == name) return known.format;
    throw Error(EINVAL, "Unknown --details format '" + std::string(name) + "'");
}

bool skip_root(const options::Parsed& parsed, bool usual) {
    auto given = parsed.find("skip-root");
    if (!given) return usual;
    if (*given != "yes" && *given != "no") throw parsed.usage_error("--skip-root: must be yes or no");
    return *given == "yes";
}

Style style_of(const options::Parsed& parsed) {
    if (parsed.has("ascii")) return ascii;
    return parsed.has("compact") ? compact : box;
}

int run(Context& context, const options::Parsed& parsed) {
    Plan plan;
    const bool all = parsed.has("all");
    const bool with_details = parsed.has("extended") || parsed.has("details") || parsed.has("detail-format");
    plan.ids = select::job_ids(parsed);
    plan.query.userid = select::all_users;
    plan.query.max_entries = parsed.number<std::size_t>("count", default_count);
    plan.query.filter.add(parsed.list("filter"));
    if (plan.query.filter.empty())
        plan.query.filter.states =
            all ? job_states_active | static_cast<int>(JobState::inactive) : static_cast<int>(job_states_running);

    std::string label(parsed.get("label", all ? "{name}:{status_abbrev}" : "{name}"));
    std::string parent_label(parsed.get("parent-label", parsed.has("label") ? std::string_view(label) : "{name}"));
    if (parsed.has("parent-ids")) parent_label = "{id.f58} " + parent_label;
    plan.label = output::Format::parse(label, &joblist::heading);
    plan.parent_label = output::Format::parse(parent_label, &joblist::heading);
    if (with_details) plan.details = output::Format::parse(details_format(parsed), &joblist::heading);
    plan.skip_root = skip_root(parsed, with_details || !plan.ids.empty());
    plan.combine = !with_details && !parsed.has("no-combine");
    plan.with_header = !parsed.has("no-header");
    plan.levels = parsed.number<unsigned>("level", unlimited_levels);
    plan.width = parsed.has("long") ? 0 : terminal_width().value_or(width_unless_terminal);
    plan.style = style_of(parsed);

    std::vector<std::string> names{"uri", "state"};
    for (const auto* format : {&plan.label, &plan.parent_label, plan.details ? &*plan.details : nullptr}) {
        if (!format) continue;
        for (auto& name : format->names()) names.push_back(std::move(name));
    }
    plan.asks_instances = std::any_of(names.begin(), names.end(), &joblist::of_instance);
    plan.query.attributes = joblist::attributes(names);
    return context.run(&show, &context, &plan);
}

using options::Value;
constexpr options::Option pstree_options[] = {
    {.name = "all", .key = 'a', .help = "Include jobs in all states"},
    {.name = "count", .key = 'c', .value = Value::required, .argument = "N", .help = "Limit to N jobs per instance"},
    {.name = "filter",
     .key = 'f',
     .value = Value::required,
     .argument = "STATE|RESULT",
     .help = "List jobs with specific job state or result (default: running)"},
    {.name = "extended", .key = 'x', .help = "Print extended details before tree output"},
    {.name = "details",
     .key = 'd',
     .value = Value::required,
     .argument = "NAME",
     .help = "Select a named extended details format (default, resources, progress, stats)"},
    {.name = "detail-format",
     .value = Value::required,
     .argument = "FORMAT",
     .help = "Set output format for extended details"},
    {.name = "label",
     .key = 'o',
     .value = Value::required,
     .argument = "FORMAT",
     .help = "Set the label format of nodes"},
    {.name = "parent-label",
     .value = Value::required,
     .argument = "FORMAT",
     .help = "Set the label format of nodes that are instances"},
    {.name = "parent-ids", .key = 'p', .help = "Prepend the job id to labels of instances"},
    {.name = "long", .key = 'l', .help = "Do not truncate long lines at terminal width"},
    {.name = "level", .key = 'L', .value = Value::required, .argument = "N", .help = "Only descend N levels"},
    {.name = "no-header", .key = 'n', .help = "Suppress printing of header line"},
    {.name = "no-combine", .key = 'X', .help = "Do not combine identical children"},
    {.name = "compact", .key = 'C', .help = "Use compact tree connectors"},
    {.name = "ascii", .help = "Use ASCII character tree connectors"},
    {.name = "skip-root", .value = Value::required, .argument = "yes|no", .help = "Skip the enclosing instance"},
};
static_assert(options::consistent(pstree_options));

} // namespace

extern const options::Command cmd_pstree;
const options::Command cmd_pstree{.name = "pstree",
                                  .program = "flux-pstree",
                                  .synopsis = "[OPTIONS] [JOBID...]",
                                  .help = "Display jobs as a tree",
                                  .options = pstree_options,
                                  .family = options::Family::listing,
                                  .run = &run};

} // namespace flux::cmd
