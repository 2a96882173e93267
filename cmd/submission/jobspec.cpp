#include "cmd/submission/jobspec.hpp"

#include "cmd/select/select.hpp"
#include "cmd/submission/file_object.hpp"
#include "cmd/time/moment.hpp"

#include <flux/constraint_query.hpp>
#include <flux/duration.hpp>
#include <flux/error.hpp>
#include <flux/job_state.hpp>
#include <flux/jobspec_builder.hpp>
#include <flux/parse_integer.hpp>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <limits.h>
#include <unistd.h>

namespace flux::submission {
namespace {

using options::Parsed;

[[noreturn]] void refuse(std::string_view option, const std::string& why) {
    throw Error(EINVAL, "--" + std::string(option) + ": " + why);
}

double time_limit(std::string_view text) {
    double seconds = 0;
    try {
        seconds = parse_duration(text);
    } catch (const Error&) {
        refuse("time-limit", "invalid Flux standard duration '" + std::string(text) + "'");
    }
    const bool with_unit = text.find_first_not_of("0123456789.+-eE") != text.npos;
    return with_unit ? seconds : seconds * 60;
}

/// `K=V`, or `^K=FILE` with the value as JSON in FILE.
std::pair<std::string, Json> setting(std::string_view option, std::string_view text) {
    if (!text.starts_with('^')) return parse_setting(text);
    text.remove_prefix(1);
    auto equals = text.find('=');
    if (equals == 0 || equals == text.npos) refuse(option, "'^" + std::string(text) + "' is not of the form ^KEY=FILE");
    std::string path(text.substr(equals + 1));
    std::ifstream file(path);
    if (!file) throw Error(errno, errno_text(errno) + ": '" + path + "'");
    std::string content(std::istreambuf_iterator<char>(file), {});
    return {std::string(text.substr(0, equals)), Json::parse(content, path)};
}

/// `[SIG][@TIME]`
Json warning_signal(std::string_view text) {
    auto at = text.find('@');
    auto name = text.substr(0, at);
    int signum = name.empty() ? SIGUSR1 : select::signal_number(name);
    double left = at == text.npos ? 60 : parse_duration(text.substr(at + 1));
    return Json::object("signum", signum, "timeleft", left);
}

TaskResources resources(const Parsed& parsed) {
    TaskResources want;
    want.nodes = count(parsed, "nodes");
    want.exclusive = parsed.has("exclusive");
    want.tasks = count(parsed, "ntasks");
    want.cores_per_task = count(parsed, "cores-per-task");
    want.gpus_per_task = count(parsed, "gpus-per-task");
    want.cores = count(parsed, "cores");
    want.tasks_per_node = count(parsed, "tasks-per-node");
    want.tasks_per_core = count(parsed, "tasks-per-core");
    want.gpus_per_node = count(parsed, "gpus-per-node");
    return want;
}

void set_environment(JobspecBuilder& jobspec, const Parsed& parsed, const Surroundings& surroundings,
                     std::optional<std::string_view> cc) {
    EnvironmentRules rules(surroundings.environment);
    for (const auto& given : parsed.given()) {
        if (given.option->name == "env") rules.apply(*given.value);
        if (given.option->name == "env-remove") rules.remove(*given.value);
        if (given.option->name == "env-file") rules.apply_file(*given.value);
    }
    for (const auto& [name, value] : rules.environment()) jobspec.set_environment(name, value);
    if (cc) jobspec.set_environment("FLUX_JOB_CC", *cc);
    if (rules.templates().empty()) return;
    auto templates = Json::object();
    for (const auto& [name, value] : rules.templates()) templates.set(name, value);
    jobspec.set_shell_option("env-expand", std::move(templates));
}

void set_limits(JobspecBuilder& jobspec, const Parsed& parsed, const Surroundings& surroundings) {
    auto limits = surroundings.limits;
    for (auto rule : parsed.all("rlimit")) limits.apply(rule);
    if (!limits.empty()) jobspec.set_shell_option("rlimit", limits.to_json());
}

void set_streams(JobspecBuilder& jobspec, const Parsed& parsed) {
    auto redirect = [&](const char* option, const std::string& stream, bool label) {
        auto path = parsed.find(option);
        if (!path || (label && (*path == "none" || *path == "kvs"))) return;
        jobspec.set_shell_option(stream + ".type", "file");
        jobspec.set_shell_option(stream + ".path", *path);
        if (label && parsed.has("label-io")) jobspec.set_shell_option(stream + ".label", true);
    };
    if (!input_ranks(parsed)) redirect("input", "input.stdin", false);
    redirect("output", "output.stdout", true);
    redirect("error", "output.stderr", true);
    if (parsed.has("unbuffered")) {
        jobspec.set_shell_option("output.stdout.buffer.type", "none");
        jobspec.set_shell_option("output.stderr.buffer.type", "none");
        jobspec.set_shell_option("output.batch-timeout", 0.05);
        jobspec.set_shell_option("input.batch-timeout", 0.0);
    }
}

void set_dependencies(JobspecBuilder& jobspec, const Parsed& parsed) {
    for (const auto& given : parsed.given()) {
        if (given.option->name == "dependency") jobspec.add_dependency(parse_dependency(*given.value));
        if (given.option->name == "begin-time") {
            auto when = static_cast<std::int64_t>(moment::parse(*given.value));
            jobspec.add_dependency(Json::object("scheme", "begin-time", "value", std::to_string(when)));
        }
    }
}

void set_constraints(JobspecBuilder& jobspec, const Parsed& parsed) {
    std::string query;
    for (auto part : parsed.all("requires")) query.append(query.empty() ? "" : " ").append(part);
    if (query.empty()) return;
    try {
        jobspec.set_constraints(parse_constraint_query(query, ConstraintQueryRules::for_resources()));
    } catch (const Error& error) {
        throw error.while_doing("--requires='" + query + "'");
    }
}

} // namespace

std::int64_t count(const Parsed& parsed, std::string_view option) {
    auto text = parsed.find(option);
    if (!text) return 0;
    auto value = parse_integer<std::int64_t>(*text);
    if (!value) refuse(option, "invalid int value '" + std::string(*text) + "'");
    return *value;
}

Surroundings::Surroundings() : environment(process_environment()) {
    char buffer[PATH_MAX];
    if (::getcwd(buffer, sizeof buffer)) cwd = buffer;
}

void apply_options(JobspecBuilder& jobspec, const Parsed& parsed, const Surroundings& surroundings,
                   std::optional<std::string_view> cc) {
    if (auto text = parsed.find("time-limit")) jobspec.set_duration(time_limit(*text));
    set_environment(jobspec, parsed, surroundings, cc);
    jobspec.set_cwd(parsed.get("cwd", surroundings.cwd));
    set_limits(jobspec, parsed, surroundings);
    if (auto name = parsed.find("job-name")) jobspec.set_job_name(*name);
    if (auto queue = parsed.find("queue")) jobspec.set_queue(*queue);
    if (auto bank = parsed.find("bank")) jobspec.set_bank(*bank);
    set_streams(jobspec, parsed);
    if (auto text = parsed.find("signal")) jobspec.set_shell_option("signal", warning_signal(*text));
    set_dependencies(jobspec, parsed);
    set_constraints(jobspec, parsed);
    for (auto text : parsed.all("add-file")) {
        auto [name, file] = parse_add_file(text);
        jobspec.add_file(name, std::move(file));
    }
    for (auto text : parsed.all("setopt")) {
        auto [path, value] = setting("setopt", text);
        jobspec.set_shell_option(path, std::move(value));
    }
    for (auto text : parsed.all("setattr")) {
        auto [name, value] = setting("setattr", text);
        jobspec.set_attribute(attribute_path(name), std::move(value));
    }
}

Json make_jobspec(const Parsed& parsed, const Surroundings& surroundings, std::optional<std::string_view> cc) {
    auto jobspec = JobspecBuilder::for_tasks(parsed.operands(), resources(parsed));
    if (auto text = parsed.find("taskmap")) {
        auto colon = text->find(':');
        auto value = colon == text->npos ? std::string_view() : text->substr(colon + 1);
        jobspec.set_shell_option("taskmap", Json::object("scheme", text->substr(0, colon), "value", value));
    }
    apply_options(jobspec, parsed, surroundings, cc);
    return jobspec.take();
}

int urgency(const Parsed& parsed) {
    auto text = parsed.get("urgency", "default");
    if (text == "hold") return urgency_hold;
    if (text == "default") return urgency_default;
    if (text == "expedite") return urgency_expedite;
    auto number = parse_integer<int>(text);
    if (!number || *number < urgency_hold || *number > urgency_expedite)
        throw parsed.usage_error("argument --urgency: invalid value: '" + std::string(text) + "'");
    return *number;
}

int submit_flags(const Parsed& parsed) {
    int flags = 0;
    for (const auto& name : parsed.list("flags")) {
        if (name == "debug")
            flags |= job_flag_debug;
        else if (name == "waitable")
            flags |= job_flag_waitable;
        else if (name == "novalidate")
            flags |= job_flag_novalidate;
        else
            refuse("flags", "Unknown flag: " + name);
    }
    return flags;
}

std::optional<Idset> input_ranks(const Parsed& parsed) {
    auto text = parsed.find("input");
    if (!text) return std::nullopt;
    return Idset::try_parse(*text);
}

} // namespace flux::submission
