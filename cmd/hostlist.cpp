// flux hostlist: fetch, combine and cut lists of hosts (cli.md 6.32).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/hostlist.hpp>
#include <flux/idset.hpp>
#include <flux/job_id.hpp>
#include <flux/parse_integer.hpp>
#include <flux/resource_protocol.hpp>
#include <flux/resource_set.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <set>
#include <unistd.h>

namespace flux::cmd {
namespace {

// Sources -------------------------------------------------------------------------------------------------------

constexpr int usual_stdin_timeout = 15;

Hostlist read_stdin() {
    int seconds = usual_stdin_timeout;
    if (const char* text = std::getenv("FLUX_HOSTLIST_STDIN_TIMEOUT"))
        seconds = parse_integer<int>(text).value_or(usual_stdin_timeout);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, seconds * 1000) == 0) throw Error(ETIMEDOUT, "timeout waiting for hostlist on stdin");
    std::string text;
    char chunk[4096];
    for (ssize_t size; (size = ::read(STDIN_FILENO, chunk, sizeof chunk)) > 0;)
        text.append(chunk, static_cast<std::size_t>(size));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return Hostlist::parse(text);
}

Task<Hostlist> of_instance(Handle* handle) {
    auto text = co_await handle->get_attr("hostlist");
    co_return Hostlist::parse(text.value_or(""));
}

Task<Hostlist> of_available(Handle* handle) {
    auto leader = CallOptions().rank(0);
    auto answer = co_await handle->call(resource_protocol::status.topic, leader);
    auto status = answer.json();
    auto all = ResourceSet::decode(status.get<JsonView>("R"));
    auto ranks = all.ranks();
    ranks -= status.get<Idset>("offline");
    ranks -= status.get<Idset>("exclude");
    for (auto [drained, info] : status["drain"].members()) ranks -= Idset::parse(drained);
    co_return all.copy_ranks(ranks).hosts();
}

Task<Hostlist> of_job(Handle* handle, JobId id, std::string name) {
    try {
        auto payload = Json::object("id", id, "attrs", Json::array_of("nodelist"));
        auto answer = co_await handle->call("job-list.list-id", std::move(payload));
        co_return Hostlist::parse(answer.json()["job"].get_or("nodelist", std::string()));
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
        throw Error(ENOENT, "job " + name + " not found");
    }
}

template <class... Arguments>
Task<int> fetch(Task<Hostlist> (*function)(Arguments...), Hostlist* hosts, Arguments... arguments) {
    *hosts = co_await function(arguments...);
    co_return 0;
}

class Sources {
public:
    Sources(Context& context, bool fallback) : context_(context), fallback_(fallback) {}

    Hostlist read(const std::string& source) {
        Hostlist hosts;
        if (source == "stdin" || source == "-") return read_stdin();
        if (source == "instance") {
            context_.run(&fetch<Handle*>, &of_instance, &hosts, &context_.handle());
            return hosts;
        }
        if (source == "avail" || source == "available") {
            context_.run(&fetch<Handle*>, &of_available, &hosts, &context_.handle());
            return hosts;
        }
        if (source == "local") {
            const char* job = std::getenv("FLUX_JOB_ID");
            return read(job ? job : "instance");
        }
        if (auto id = JobId::try_parse(source)) {
            try {
                context_.run(&fetch<Handle*, JobId, std::string>, &of_job, &hosts, &context_.handle(), *id, source);
                return hosts;
            } catch (const Error& error) {
                if (!fallback_ || error.errnum() != ENOENT) throw;
            }
        }
        return Hostlist::parse(source);
    }

private:
    Context& context_;
    bool fallback_;
};

// Operations ----------------------------------------------------------------------------------------------------

using Names = std::vector<std::string>;

Names names_of(const Hostlist& hosts) { return Names(hosts.begin(), hosts.end()); }

Hostlist list_of(const Names& names) {
    Hostlist hosts;
    for (const auto& name : names) hosts.push_back(name);
    return hosts;
}

Names unique(const Names& names) {
    std::set<std::string> seen;
    Names result;
    for (const auto& name : names)
        if (seen.insert(name).second) result.push_back(name);
    return result;
}

/// Hosts of the lists, in order of first appearance, for which `wanted(lists that have it)` holds.
Names combine_if(const std::vector<Hostlist>& lists,
                 bool (*wanted)(std::size_t count, std::size_t all, bool in_first)) {
    Names everything;
    for (const auto& list : lists)
        for (auto name : list) everything.push_back(name);
    Names result;
    for (const auto& name : unique(everything)) {
        auto count = static_cast<std::size_t>(
            std::count_if(lists.begin(), lists.end(), [&](const Hostlist& list) { return list.contains(name); }));
        if (wanted(count, lists.size(), lists.front().contains(name))) result.push_back(name);
    }
    return result;
}

Hostlist combine(const std::vector<Hostlist>& lists, const options::Parsed& parsed) {
    if (parsed.has("intersect"))
        return list_of(combine_if(lists, [](std::size_t count, std::size_t all, bool) { return count == all; }));
    if (parsed.has("xor"))
        return list_of(combine_if(lists, [](std::size_t count, std::size_t, bool) { return count % 2 == 1; }));
    if (parsed.has("minus"))
        return list_of(
            combine_if(lists, [](std::size_t count, std::size_t, bool in_first) { return in_first && count == 1; }));
    Hostlist all;
    for (const auto& list : lists) all.append(list);
    return all;
}

Hostlist exclude(const Hostlist& hosts, const std::string& what) {
    Names kept;
    auto names = names_of(hosts);
    if (auto unwanted = Hostlist::try_parse(what)) {
        for (const auto& name : names)
            if (!unwanted->contains(name)) kept.push_back(name);
        if (kept.size() < names.size()) return list_of(kept);
    }
    auto indices = Idset::try_parse(what);
    if (!indices) return hosts;
    kept.clear();
    for (std::size_t index = 0; index < names.size(); ++index)
        if (!indices->test(static_cast<Idset::Id>(index))) kept.push_back(names[index]);
    return list_of(kept);
}

Hostlist limit(const Hostlist& hosts, std::int64_t count) {
    auto names = names_of(hosts);
    auto size = std::min<std::size_t>(static_cast<std::size_t>(std::llabs(count)), names.size());
    if (count >= 0)
        names.resize(size);
    else
        names.erase(names.begin(), names.end() - static_cast<std::ptrdiff_t>(size));
    return list_of(names);
}

/// Hosts at positions, from the end with `-`.
Hostlist nth(const Hostlist& hosts, std::string_view text) {
    const bool from_end = text.starts_with('-');
    if (from_end) text.remove_prefix(1);
    auto names = names_of(hosts);
    Names picked;
    for (auto index : Idset::parse(text)) {
        if (from_end ? index == 0 || index > names.size() : index >= names.size()) {
            if (text.find_first_of(",-") == text.npos) return {};
            continue;
        }
        picked.push_back(from_end ? names[names.size() - index] : names[index]);
    }
    return list_of(picked);
}

int find(const Hostlist& hosts, std::string_view wanted) {
    std::string line;
    for (auto name : Hostlist::parse(wanted)) {
        auto position = hosts.find(name);
        if (!position) throw Error(ENOENT, "host '" + name + "' not found in hostlist");
        line += (line.empty() ? "" : " ") + std::to_string(*position);
    }
    fmt::print("{}\n", line);
    return 0;
}

std::string delimiter_of(const options::Parsed& parsed) {
    std::string text(parsed.get("delimiter", " "));
    for (std::size_t at = text.find("\\n"); at != text.npos; at = text.find("\\n", at + 1)) text.replace(at, 2, "\n");
    return text;
}

void print(const Hostlist& hosts, const options::Parsed& parsed) {
    if (parsed.has("count")) {
        fmt::print("{}\n", hosts.size());
        return;
    }
    if (hosts.empty()) return;
    if (!parsed.has("expand")) {
        fmt::print("{}\n", hosts.encode());
        return;
    }
    std::string line;
    auto delimiter = delimiter_of(parsed);
    for (auto name : hosts) line += (line.empty() ? "" : delimiter) + name;
    fmt::print("{}\n", line);
}

int run(Context& context, const options::Parsed& parsed) {
    const int operations = parsed.has("intersect") + parsed.has("minus") + parsed.has("xor");
    if (operations > 1) throw parsed.usage_error("only one of --intersect, --minus and --xor may be given");
    if (parsed.has("expand") && parsed.has("count"))
        throw parsed.usage_error("argument --count: not allowed with argument --expand");
    auto words = parsed.operands();
    if (words.empty()) words.push_back(parsed.has("local") ? "local" : "stdin");
    Sources sources(context, parsed.has("fallback"));
    std::vector<Hostlist> lists;
    for (const auto& word : words) lists.push_back(sources.read(word));

    auto hosts = combine(lists, parsed);
    if (auto what = parsed.find("exclude")) hosts = exclude(hosts, std::string(*what));
    if (parsed.has("sort")) hosts.sort();
    if (parsed.has("union")) hosts.sort_unique();
    if (parsed.has("limit")) hosts = limit(hosts, parsed.number<std::int64_t>("limit", 0));
    if (auto positions = parsed.find("nth")) hosts = nth(hosts, *positions);
    if (auto wanted = parsed.find("find")) return find(hosts, *wanted);
    if (parsed.has("quiet")) return hosts.empty() ? options::exit_code::failure : 0;
    print(hosts, parsed);
    return 0;
}

using options::Value;
constexpr options::Option hostlist_options[] = {
    {.name = "expand", .key = 'e', .help = "Expand hostlist result"},
    {.name = "delimiter",
     .key = 'd',
     .value = Value::required,
     .argument = "S",
     .help = "Set output delimiter for expanded hostlist (default=' ')"},
    {.name = "count", .key = 'c', .help = "Print the number of hosts"},
    {.name = "nth",
     .key = 'n',
     .value = Value::required,
     .argument = "[-]IDS",
     .help = "Output hosts at indices in idset IDS (-IDS to index from end)"},
    {.name = "find",
     .key = 'F',
     .value = Value::required,
     .argument = "HOSTS",
     .help = "Output list of indices of HOSTS in result"},
    {.name = "limit",
     .key = 'L',
     .value = Value::required,
     .argument = "N",
     .help = "Output at most N hosts (-N for the last N hosts)"},
    {.name = "sort", .key = 'S', .help = "Return sorted result"},
    {.name = "exclude",
     .key = 'x',
     .value = Value::required,
     .argument = "IDS|HOSTS",
     .help = "Exclude all occurrences of HOSTS or indices from final result"},
    {.name = "union", .key = 'u', .help = "Return only unique hosts"},
    {.name = "unique", .hidden = true, .same_as = "union"},
    {.name = "intersect", .key = 'i', .help = "Return the intersection of all hostlists"},
    {.name = "minus", .key = 'm', .help = "Subtract all hostlist args from first argument"},
    {.name = "xor", .key = 'X', .help = "Return symmetric difference of all hostlists"},
    {.name = "fallback", .key = 'f', .help = "Fallback to treating an unknown jobid as a hostname"},
    {.name = "local", .key = 'l', .help = "Set the default source to 'local' instead of 'stdin'"},
    {.name = "quiet", .key = 'q', .help = "No output: exit with 1 if the hostlist is empty"},
};
static_assert(options::consistent(hostlist_options));

} // namespace

extern const options::Command cmd_hostlist;
const options::Command cmd_hostlist{.name = "hostlist",
                                    .program = "flux-hostlist",
                                    .synopsis = "[OPTIONS] [SOURCES...]",
                                    .help = "Fetch, combine, and manipulate Flux hostlists",
                                    .options = hostlist_options,
                                    .family = options::Family::listing,
                                    .run = &run};

} // namespace flux::cmd
