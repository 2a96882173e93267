#include "cmd/joblist/fields.hpp"

#include "cmd/output/convert.hpp"
#include "cmd/select/select.hpp"

#include <flux/job_id.hpp>
#include <flux/job_state.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <ctime>
#include <iterator>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace flux::joblist {
namespace {

using output::Absent;
using output::Value;

JobState state_of(const Job& job) { return static_cast<JobState>(job.json()["state"].try_as<int>().value_or(0)); }

JobResult result_of(const Job& job) { return static_cast<JobResult>(job.json()["result"].try_as<int>().value_or(0)); }

bool pending(const Job& job) { return job_state_in(state_of(job), job_states_pending); }
bool inactive(const Job& job) { return state_of(job) == JobState::inactive; }

double number_of(const Job& job, const char* key) { return job.json()[key].try_as<double>().value_or(0); }

std::string text_of(const Job& job, const char* key) { return job.json()[key].try_as<std::string>().value_or(""); }

/// A JSON value as a field: objects and arrays as their text.
Value from_json(JsonView value) {
    if (!value || value.is_null()) return Absent();
    if (value.is_bool()) return value.as<bool>();
    if (value.is_integer()) return value.as<std::int64_t>();
    if (value.is_real()) return value.as<double>();
    if (value.is_string()) return value.as<std::string>();
    return value.dump();
}

std::string local_uri(const std::string& uri) {
    // ssh://HOST/PATH
    constexpr std::string_view remote = "ssh://";
    if (!uri.starts_with(remote)) return uri;
    auto slash = uri.find('/', remote.size());
    return slash == std::string::npos ? uri : "local://" + uri.substr(slash);
}

/// `begin-time=T` reads better as the time of day.
std::string describe_dependency(const std::string& text, double now) {
    constexpr std::string_view prefix = "begin-time=";
    if (!text.starts_with(prefix)) return text;
    double when = 0;
    try {
        when = std::stod(text.substr(prefix.size()));
    } catch (const std::exception&) {
        return text;
    }
    auto day = [](double time) { return output::local_time(time, "%F"); };
    auto seconds = static_cast<std::int64_t>(when) % 60;
    auto clock = output::local_time(when, seconds ? "%H:%M:%S" : "%H:%M");
    if (day(when) == day(now)) return "begin@" + clock;
    return "begin@" + output::local_time(when, "%b%d") + "-" + output::local_time(when, "%H:%M");
}

std::string join(const std::vector<std::string>& items) {
    std::string text;
    for (const auto& item : items) text += text.empty() ? item : "," + item;
    return text;
}

std::string dependency_list(const Job& job, double now) {
    std::vector<std::string> items;
    for (const auto& item : job.dependencies()) items.push_back(describe_dependency(item, now));
    return join(items);
}

std::string contextual_info(const Job& job, double now) {
    switch (state_of(job)) {
    case JobState::priority: return "priority-wait";
    case JobState::depend: {
        auto list = dependency_list(job, now);
        return list.empty() ? list : "depends:" + list;
    }
    case JobState::sched:
        if (auto estimate = job.json().find("annotations.sched.t_estimate").try_as<double>()) {
            auto left = *estimate - now;
            return "eta:" + (left < 0 ? std::string("now") : output::listing_duration(left));
        }
        if (job.json()["urgency"].try_as<int>() == urgency_hold) return "held";
        if (job.json()["priority"].try_as<std::int64_t>() == priority_min) return "priority-hold";
        return {};
    default: return text_of(job, "nodelist");
    }
}

std::string inactive_reason(const Job& job) {
    if (!inactive(job)) return {};
    auto note = text_of(job, "exception_note");
    switch (result_of(job)) {
    case JobResult::canceled: return note.empty() ? "Canceled" : "Canceled: " + note;
    case JobResult::timeout: return "Timeout";
    case JobResult::failed:
        if (job.json()["exception_occurred"].try_as<bool>().value_or(false) &&
            job.json()["exception_severity"].try_as<int>().value_or(0) == 0)
            return "Exception: type=" + text_of(job, "exception_type") + (note.empty() ? "" : " note=" + note);
        break;
    case JobResult::completed: break;
    }
    auto code = job.returncode();
    if (!code) return {};
    if (*code < 0) return ::strsignal(-*code);
    switch (*code) {
    case 126: return "Command invoked cannot execute";
    case 127: return "command not found";
    case 128: return "Invalid argument to exit";
    default: break;
    }
    if (*code > 128 && *code - 128 < NSIG) return ::strsignal(*code - 128);
    return "Exit " + std::to_string(*code);
}

constexpr std::string_view no_emoji = "\u3000";

std::string_view state_emoji(JobState state) {
    switch (state) {
    case JobState::depend: return "\U0001F6D1";
    case JobState::priority: return "\U0001F6A6";
    case JobState::sched: return "\U0001F4C5";
    case JobState::run: return "\U0001F3C3";
    case JobState::cleanup: return "\U0001F5D1";
    case JobState::inactive: return "\U0001F480";
    default: return no_emoji;
    }
}

std::string_view result_emoji(JobResult result) {
    switch (result) {
    case JobResult::completed: return "\U0001F600";
    case JobResult::failed: return "\U0001F4A9";
    case JobResult::canceled: return "\U0001F4A5";
    case JobResult::timeout: return "\u231B";
    }
    return no_emoji;
}

std::string result_name(const Job& job) {
    return inactive(job) ? std::string(job_result_name(result_of(job))) : std::string();
}

std::string result_letter(const Job& job) {
    return inactive(job) ? std::string(job_result_letter(result_of(job))) : std::string();
}

template <class T> Value text(const T& value) { return std::string(value); }

/// A field that is asked for.
struct Asked {
    const Job& job;
    std::string_view name;
    double now;
};

Value as_attribute(const Asked& asked) { return from_json(asked.job.json()[asked.name]); }
Value as_time(const Asked& asked) { return asked.job.json()[asked.name].try_as<double>().value_or(0); }

struct Field {
    std::string_view name;
    std::string_view heading;
    std::string_view attributes; ///< of job-list, separated by blanks
    Value (*value)(const Asked& asked);
};

// Sorted by name.
constexpr Field fields[] = {
    {"annotations", "ANNOTATIONS", "annotations",
     [](const Asked& asked) { return from_json(asked.job.json()["annotations"]); }},
    {"bank", "BANK", "bank", &as_attribute},
    {"contextual_info", "INFO", "state dependencies annotations nodelist urgency priority",
     [](const Asked& asked) { return text(contextual_info(asked.job, asked.now)); }},
    {"contextual_time", "TIME", "state t_run t_cleanup duration",
     [](const Asked& asked) -> Value {
         return pending(asked.job) ? number_of(asked.job, "duration") : asked.job.runtime();
     }},
    {"cwd", "CWD", "cwd", &as_attribute},
    {"dependencies", "DEPENDENCIES", "dependencies",
     [](const Asked& asked) { return text(dependency_list(asked.job, asked.now)); }},
    {"duration", "DURATION", "duration", &as_time},
    {"exception.note", "EXCEPTION-NOTE", "exception_note",
     [](const Asked& asked) { return text(text_of(asked.job, "exception_note")); }},
    {"exception.occurred", "EXCEPTION-OCCURRED", "exception_occurred",
     [](const Asked& asked) { return from_json(asked.job.json()["exception_occurred"]); }},
    {"exception.severity", "EXCEPTION-SEVERITY", "exception_severity",
     [](const Asked& asked) { return from_json(asked.job.json()["exception_severity"]); }},
    {"exception.type", "EXCEPTION-TYPE", "exception_type",
     [](const Asked& asked) { return text(text_of(asked.job, "exception_type")); }},
    {"expiration", "EXPIRATION", "expiration", &as_time},
    {"id", "JOBID", "",
     [](const Asked& asked) -> Value {
         return output::Spelled{static_cast<std::int64_t>(asked.job.id().value()), asked.job.id().f58()};
     }},
    {"id.dec", "JOBID", "",
     [](const Asked& asked) -> Value { return static_cast<std::int64_t>(asked.job.id().value()); }},
    {"id.dothex", "JOBID", "", [](const Asked& asked) { return text(asked.job.id().dothex()); }},
    {"id.emoji", "JOBID", "", [](const Asked& asked) { return text(asked.job.id().emoji()); }},
    {"id.f58", "JOBID", "", [](const Asked& asked) { return text(asked.job.id().f58()); }},
    {"id.f58plain", "JOBID", "", [](const Asked& asked) { return text(asked.job.id().f58plain()); }},
    {"id.hex", "JOBID", "", [](const Asked& asked) { return text(asked.job.id().hex()); }},
    {"id.kvs", "JOBID", "", [](const Asked& asked) { return text(asked.job.id().kvs()); }},
    {"id.words", "JOBID", "", [](const Asked& asked) { return text(asked.job.id().words()); }},
    {"inactive_reason", "INACTIVE-REASON",
     "state result waitstatus exception_occurred exception_severity exception_type exception_note",
     [](const Asked& asked) { return text(inactive_reason(asked.job)); }},
    {"name", "NAME", "name", &as_attribute},
    {"ncores", "NCORES", "ncores", &as_attribute},
    {"nnodes", "NNODES", "nnodes state",
     [](const Asked& asked) -> Value { return pending(asked.job) ? Absent() : from_json(asked.job.json()["nnodes"]); }},
    {"nodelist", "NODELIST", "nodelist", &as_attribute},
    {"ntasks", "NTASKS", "ntasks", &as_attribute},
    {"priority", "PRI", "priority", &as_attribute},
    {"project", "PROJECT", "project", &as_attribute},
    {"queue", "QUEUE", "queue", &as_attribute},
    {"ranks", "RANKS", "ranks", &as_attribute},
    {"result", "RESULT", "result state", [](const Asked& asked) { return text(result_name(asked.job)); }},
    {"result_abbrev", "RS", "result state", [](const Asked& asked) { return text(result_letter(asked.job)); }},
    {"result_emoji", "RESULT", "result state",
     [](const Asked& asked) { return text(inactive(asked.job) ? result_emoji(result_of(asked.job)) : no_emoji); }},
    {"returncode", "RC", "waitstatus result state",
     [](const Asked& asked) -> Value {
         auto code = asked.job.returncode();
         return code ? Value(std::int64_t(*code)) : Absent();
     }},
    {"runtime", "RUNTIME", "t_run t_cleanup", [](const Asked& asked) -> Value { return asked.job.runtime(); }},
    {"sched", "SCHED", "annotations",
     [](const Asked& asked) { return from_json(asked.job.json().find("annotations.sched")); }},
    {"state", "STATE", "state", [](const Asked& asked) { return text(job_state_name(state_of(asked.job))); }},
    {"state_emoji", "STATE", "state", [](const Asked& asked) { return text(state_emoji(state_of(asked.job))); }},
    {"state_single", "S", "state", [](const Asked& asked) { return text(job_state_letter(state_of(asked.job))); }},
    {"status", "STATUS", "state result", [](const Asked& asked) { return text(asked.job.status()); }},
    {"status_abbrev", "ST", "state result",
     [](const Asked& asked) {
         return text(inactive(asked.job) ? job_result_letter(result_of(asked.job))
                                         : job_state_letter(state_of(asked.job)));
     }},
    {"status_emoji", "STATUS", "state result",
     [](const Asked& asked) {
         return text(inactive(asked.job) ? result_emoji(result_of(asked.job)) : state_emoji(state_of(asked.job)));
     }},
    {"success", "SUCCESS", "success", &as_attribute},
    {"t_cleanup", "T_CLEANUP", "t_cleanup", &as_time},
    {"t_depend", "T_DEPEND", "t_depend", &as_time},
    {"t_inactive", "T_INACTIVE", "t_inactive", &as_time},
    {"t_priority", "T_PRIORITY", "t_priority", &as_time},
    {"t_remaining", "T_REMAINING", "expiration state",
     [](const Asked& asked) -> Value {
         if (state_of(asked.job) != JobState::run) return 0.0;
         auto expiration = number_of(asked.job, "expiration");
         return expiration > 0 ? std::max(expiration - asked.now, 0.0) : 0.0;
     }},
    {"t_run", "T_RUN", "t_run", &as_time},
    {"t_sched", "T_SCHED", "t_sched", &as_time},
    {"t_submit", "T_SUBMIT", "t_submit", &as_time},
    {"urgency", "URG", "urgency", &as_attribute},
    {"uri", "URI", "annotations",
     [](const Asked& asked) { return text(asked.job.uri().empty() ? std::string("None") : asked.job.uri()); }},
    {"uri.local", "URI", "annotations",
     [](const Asked& asked) {
         return text(asked.job.uri().empty() ? std::string("None") : local_uri(asked.job.uri()));
     }},
    {"user", "USER", "annotations",
     [](const Asked& asked) { return from_json(asked.job.json().find("annotations.user")); }},
    {"userid", "UID", "userid", &as_attribute},
    {"username", "USER", "userid",
     [](const Asked& asked) { return text(select::user_name(asked.job.json().get<std::uint32_t>("userid"))); }},
    {"waitstatus", "WSTATUS", "waitstatus", &as_attribute},
};

static_assert(std::is_sorted(std::begin(fields), std::end(fields),
                             [](const Field& a, const Field& b) { return a.name < b.name; }));

const Field* find_field(std::string_view name) {
    auto found = std::lower_bound(std::begin(fields), std::end(fields), name,
                                  [](const Field& field, std::string_view key) { return field.name < key; });
    return found != std::end(fields) && found->name == name ? found : nullptr;
}

constexpr std::string_view instance_prefix = "instance.";

/// Path below `annotations` of `annotations.A.B`, `sched.A` and `user.A`; empty for other names.
std::string_view annotation_path(std::string_view name) {
    constexpr std::string_view prefix = "annotations.";
    if (name.starts_with(prefix)) return name.substr(prefix.size());
    if (name.starts_with("sched.") || name.starts_with("user.")) return name;
    return {};
}

} // namespace

Value Job::field(std::string_view name) const {
    if (const auto* field = find_field(name)) return field->value(Asked{*this, name, now_});
    if (of_instance(name)) return instance_ ? instance_->field(name.substr(instance_prefix.size())) : Absent();
    return from_json(json_["annotations"].find(annotation_path(name)));
}

JobId Job::id() const { return json_.get<JobId>("id"); }

bool Job::running() const noexcept { return state_of(*this) == JobState::run; }

bool Job::active() const noexcept { return !inactive(*this); }

double Job::runtime() const noexcept {
    auto begin = number_of(*this, "t_run"), end = number_of(*this, "t_cleanup");
    if (begin <= 0) return 0;
    return std::max((end > 0 ? end : now_) - begin, 0.0);
}

std::string_view Job::status() const noexcept {
    return inactive(*this) ? job_result_name(result_of(*this)) : job_state_name(state_of(*this));
}

std::string Job::uri() const { return json_.find("annotations.user.uri").try_as<std::string>().value_or(""); }

std::vector<std::string> Job::dependencies() const {
    return json_["dependencies"].try_as<std::vector<std::string>>().value_or(std::vector<std::string>());
}

std::optional<int> Job::returncode() const noexcept {
    if (auto status = json_["waitstatus"].try_as<int>())
        return WIFSIGNALED(*status) ? -WTERMSIG(*status) : WEXITSTATUS(*status);
    if (active()) return std::nullopt;
    if (result_of(*this) == JobResult::canceled) return -128;
    return 1;
}

bool of_instance(std::string_view name) noexcept { return name.starts_with(instance_prefix); }

std::optional<std::string> heading(std::string_view name) {
    if (const auto* field = find_field(name)) return std::string(field->heading);
    if (of_instance(name)) return instance_heading(name.substr(instance_prefix.size()));
    auto path = annotation_path(name);
    if (path.empty()) return std::nullopt;
    if (path == "sched.t_estimate") return "T_ESTIMATE";
    if (path == "sched.reason_pending") return "REASON";
    if (path == "sched.resource_summary") return "RESOURCES";
    std::string upper(path);
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return upper;
}

std::vector<std::string> attributes(const std::vector<std::string>& names) {
    std::set<std::string> needed;
    for (const auto& name : names) {
        const auto* field = find_field(name);
        // Instances are found by their state and their URI.
        std::string_view others = of_instance(name) ? "annotations state" : "annotations";
        for (auto rest = field ? field->attributes : others; !rest.empty();) {
            auto one = rest.substr(0, rest.find(' '));
            if (!one.empty()) needed.emplace(one);
            rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        }
    }
    return std::vector<std::string>(needed.begin(), needed.end());
}

Json to_json(const Job& job) {
    auto object = Json::object();
    auto json = job.json();
    auto copy = [&](const char* key) {
        if (auto value = json[key]) object.set(key, value.copy());
    };
    auto copy_text = [&](const char* key) {
        if (!text_of(job, key).empty()) object.set(key, text_of(job, key));
    };
    auto copy_time = [&](const char* key) {
        if (number_of(job, key) != 0) object.set(key, number_of(job, key));
    };
    for (const char* key : {"t_depend", "t_priority", "t_sched", "t_run", "t_cleanup", "t_inactive"}) copy_time(key);
    copy("duration");
    copy_time("expiration");
    for (const char* key : {"name", "cwd", "queue", "project", "bank"}) copy_text(key);
    for (const char* key : {"ntasks", "ncores"}) copy(key);
    if (!pending(job)) copy("nnodes");
    copy("priority");
    for (const char* key : {"ranks", "nodelist"}) copy_text(key);
    copy("success");
    if (inactive(job)) object.set("result", result_name(job));
    copy("waitstatus");
    copy("id");
    copy("t_submit");
    auto remaining = job.field("t_remaining");
    if (const auto* seconds = std::get_if<double>(&remaining); seconds && *seconds > 0)
        object.set("t_remaining", *seconds);
    object.set("state", job_state_name(state_of(job)));
    object.set("username", select::user_name(json.get<std::uint32_t>("userid")));
    copy("userid");
    copy("urgency");
    if (job.runtime() > 0) object.set("runtime", job.runtime());
    object.set("status", job.status());
    if (auto code = job.returncode()) object.set("returncode", *code);
    object.set("dependencies", job.dependencies());
    object.set("jobid", job.id().f58());
    auto annotations = json["annotations"] ? json["annotations"].copy() : Json::object();
    if (auto uri = job.uri(); !uri.empty()) {
        annotations["user"].erase("uri");
        object.set("uri", uri);
    }
    object.set("annotations", std::move(annotations));
    auto exception = Json::object("occurred", json["exception_occurred"].try_as<bool>().value_or(false));
    if (exception["occurred"].as<bool>()) {
        exception.set("severity", json["exception_severity"].try_as<int>().value_or(0));
        exception.set("type", text_of(job, "exception_type"));
        exception.set("note", text_of(job, "exception_note"));
    }
    object.set("exception", std::move(exception));
    return object;
}

} // namespace flux::joblist
