#include "attributes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace flux::job_list {

struct Attribute {
    std::string_view name;
    /// Nothing (JSON null) when the job has none.
    Json (*get)(const Job&);
};

namespace {

template <Job::Time time> Json get_time(const Job& job) {
    if (job.times[time] == 0) return nullptr;
    return job.times[time];
}

template <Text Job::*member> Json get_text(const Job& job) {
    if (!(job.*member)) return nullptr;
    return (job.*member).view();
}

template <std::int32_t Job::*member> Json get_number(const Job& job) {
    if (job.*member == 0) return nullptr;
    return job.*member;
}

bool is_over(const Job& job) { return job.state == JobState::inactive; }
bool has_exception(const Job& job) { return is_over(job) && job.exception_severity >= 0; }

Json get_priority(const Job& job) {
    if (job.priority == priority_unset) return nullptr;
    return job.priority;
}

Json get_expiration(const Job& job) {
    if (!job.ranks) return nullptr;
    return job.expiration;
}

Json get_annotations(const Job& job) {
    if (!job.annotations) return nullptr;
    return Json::parse(job.annotations.view());
}

Json get_dependencies(const Job& job) {
    if (!job.dependencies) return nullptr;
    return *job.dependencies;
}

Json get_waitstatus(const Job& job) {
    if (!job.finished) return nullptr;
    return job.waitstatus;
}

Json get_success(const Job& job) {
    if (!is_over(job)) return nullptr;
    return job.success();
}

Json get_exception_occurred(const Job& job) {
    if (!is_over(job)) return nullptr;
    return has_exception(job);
}

Json get_exception_severity(const Job& job) {
    if (!has_exception(job)) return nullptr;
    return job.exception_severity;
}

template <Text Job::*member> Json get_exception(const Job& job) {
    if (!has_exception(job)) return nullptr;
    return (job.*member).view();
}

Json get_result(const Job& job) {
    if (!is_over(job)) return nullptr;
    return static_cast<int>(job.result);
}

constexpr Attribute attributes[] = {
    {"userid", [](const Job& job) { return Json(job.userid); }},
    {"urgency", [](const Job& job) { return Json(job.urgency); }},
    {"priority", &get_priority},
    {"t_submit", &get_time<Job::submit>},
    {"t_depend", &get_time<Job::depend>},
    {"t_priority", &get_time<Job::priority_>},
    {"t_sched", &get_time<Job::sched>},
    {"t_run", &get_time<Job::run>},
    {"t_cleanup", &get_time<Job::cleanup>},
    {"t_inactive", &get_time<Job::inactive>},
    {"state", [](const Job& job) { return Json(static_cast<int>(job.state)); }},
    {"name", &get_text<&Job::name>},
    {"cwd", &get_text<&Job::cwd>},
    {"queue", &get_text<&Job::queue>},
    {"project", &get_text<&Job::project>},
    {"bank", &get_text<&Job::bank>},
    {"ntasks", &get_number<&Job::ntasks>},
    {"ncores", &get_number<&Job::ncores>},
    {"duration", [](const Job& job) { return Json(job.duration); }},
    {"nnodes", &get_number<&Job::nnodes>},
    {"ranks", &get_text<&Job::ranks>},
    {"nodelist", &get_text<&Job::nodelist>},
    {"success", &get_success},
    {"exception_occurred", &get_exception_occurred},
    {"exception_type", &get_exception<&Job::exception_type>},
    {"exception_severity", &get_exception_severity},
    {"exception_note", &get_exception<&Job::exception_note>},
    {"result", &get_result},
    {"expiration", &get_expiration},
    {"annotations", &get_annotations},
    {"waitstatus", &get_waitstatus},
    {"dependencies", &get_dependencies},
};

} // namespace

AttributeSet::AttributeSet(JsonView names) {
    if (!names.is_array()) throw Error(EPROTO, "attrs must be an array");
    auto add = [this](const Attribute& attribute) {
        if (std::find(attributes_.begin(), attributes_.end(), &attribute) == attributes_.end())
            attributes_.push_back(&attribute);
    };
    for (auto element : names.elements()) {
        auto name = element.try_as<std::string_view>();
        if (!name) throw Error(EPROTO, "attrs must be an array of strings");
        if (*name == "id") continue;
        if (*name == "all") {
            for (const auto& attribute : attributes) add(attribute);
            continue;
        }
        auto found = std::find_if(std::begin(attributes), std::end(attributes),
                                  [&](const Attribute& attribute) { return attribute.name == *name; });
        if (found == std::end(attributes)) throw Error(EINVAL, fmt::format("{} is not a valid attribute", *name));
        add(*found);
    }
}

Json AttributeSet::describe(const Job& job) const {
    auto result = Json::object("id", job.id);
    for (const auto* attribute : attributes_) {
        auto value = attribute->get(job);
        if (!value.is_null()) result.set(attribute->name, std::move(value));
    }
    return result;
}

std::vector<std::string> attribute_names() {
    std::vector<std::string> names;
    for (const auto& attribute : attributes) names.emplace_back(attribute.name);
    names.emplace_back("all");
    return names;
}

} // namespace flux::job_list
