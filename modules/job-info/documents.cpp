#include "documents.hpp"

#include <cerrno>

namespace flux::job_info {

bool is_update(std::string_view key, const EventlogEntry& event) {
    if (key == "jobspec") return event.name == "jobspec-update";
    return key == "R" && event.name == "resource-update";
}

void apply_update(std::string_view key, const Json& document, const EventlogEntry& event) {
    if (key == "jobspec") {
        for (auto [path, value] : event.context.members()) document.set_path(path, value.copy());
        return;
    }
    if (auto expiration = event.context["expiration"]; expiration.is_number())
        document.set_path("execution.expiration", expiration.as<double>());
}

std::uint32_t owner_of(const EventlogEntry& submit) {
    if (submit.name != "submit") throw Error(EINVAL, "the eventlog of the job does not begin with submit");
    return submit.context.get<std::uint32_t>("userid");
}

std::uint32_t owner_of(std::string_view eventlog) {
    auto end = eventlog.find('\n');
    if (end == eventlog.npos) throw Error(EINVAL, "the eventlog of the job is empty");
    return owner_of(EventlogEntry::decode(eventlog.substr(0, end + 1)));
}

} // namespace flux::job_info
