#include "defaults.hpp"

#include <flux/duration.hpp>
#include <flux/jobspec.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <string>

namespace flux::job_ingest {

namespace {

void fill(JsonRef system, JsonView defaults) {
    for (auto [key, value] : defaults.members()) {
        auto present = system[key];
        if (key == "duration") {
            // A duration of 0 is none.
            if (present && present.try_as<double>() != 0) continue;
            auto text = value.try_as<std::string>();
            system.set(key, text ? Json(parse_duration(*text)) : value.copy());
        } else if (!present) {
            system.set(key, value.copy());
        }
    }
}

void require(JsonRef system, JsonView properties) {
    if (properties.empty()) return;
    auto constraints = system["constraints"];
    if (!constraints) {
        system.set("constraints", Json::object("properties", properties.copy()));
    } else if (auto present = constraints["properties"]; present.is_array()) {
        for (auto property : properties.elements()) present.append(property.copy());
    } else {
        auto both = Json::array_of(constraints.copy(), Json::object("properties", properties.copy()));
        system.set("constraints", Json::object("and", std::move(both)));
    }
}

} // namespace

void apply_defaults(Json& jobspec, JsonView config) {
    constexpr const char* defaults_key = "policy.jobspec.defaults.system";
    auto queues = config["queues"];
    auto defaults = config.find(defaults_key);
    if (queues.empty() && defaults.empty()) return;
    auto system = jobspec.object_at("attributes").object_at("system");
    JsonView queue;
    JsonView parent;
    if (!queues.empty()) {
        auto name = JobspecView(jobspec).queue();
        if (name.empty()) name = defaults["queue"].try_as<std::string>().value_or("");
        if (name.empty()) throw Error(EINVAL, "no queue specified");
        queue = queues[name];
        if (!queue) throw Error(EINVAL, fmt::format("invalid queue '{}' specified", name));
        if (auto above = queue["parent"].try_as<std::string>()) parent = queues[*above];
    }
    // The nearest comes first: later ones fill what is still missing.
    fill(system, queue.find(defaults_key));
    fill(system, parent.find(defaults_key));
    fill(system, defaults);
    require(system, parent ? parent["requires"] : queue["requires"]);
}

} // namespace flux::job_ingest
