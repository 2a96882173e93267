#include "shell_report.hpp"

#include <array>
#include <cerrno>

namespace flux::job_exec {
namespace {

constexpr std::array<std::string_view, 4> state_names{"starting", "running", "ended", "failed"};

ShellState parse_state(std::string_view name) {
    for (std::size_t i = 0; i < state_names.size(); ++i)
        if (state_names[i] == name) return static_cast<ShellState>(i);
    throw Error(EPROTO, "unknown state of a shell: " + std::string(name));
}

} // namespace

ShellReport ShellReport::decode(JsonView json) {
    ShellReport report(json.get<JobId>("id"));
    report.state = parse_state(json.get<std::string_view>("state"));
    report.status = json.get_optional<int>("status");
    report.errnum = json.get_or("errnum", 0);
    report.error = json.get_or<std::string>("error", "");
    report.entered = json.get<int>("entered");
    report.released = json.get<int>("released");
    report.expired = json.get_or("expired", false);
    if (auto output = json["output"]) report.output = output.copy();
    return report;
}

Json ShellReport::encode() const {
    auto json = Json::object("id", id, "state", state_names[static_cast<std::size_t>(state)], "entered", entered,
                             "released", released);
    if (status) json.set("status", *status);
    if (errnum) json.set("errnum", errnum);
    if (!error.empty()) json.set("error", error);
    if (expired) json.set("expired", true);
    if (!output.empty()) json.set("output", output.copy());
    return json;
}

} // namespace flux::job_exec
