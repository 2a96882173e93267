#include "broker/overlay/may_repeat.hpp"

#include <flux/content_protocol.hpp>
#include <flux/job_info_protocol.hpp>
#include <flux/job_ingest_protocol.hpp>
#include <flux/job_list_protocol.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/kvs_protocol.hpp>
#include <flux/resource_protocol.hpp>
#include <flux/sched_protocol.hpp>

#include <algorithm>
#include <array>

namespace flux::broker {
namespace {

constexpr std::array modules = {
    content_protocol::load,
    content_protocol::store,
    content_protocol::flush,
    content_protocol::checkpoint_get,
    feasibility_protocol::check,
    job_info_protocol::lookup,
    job_info_protocol::eventlog_watch,
    job_info_protocol::update_watch,
    job_info_protocol::update_lookup,
    job_ingest_protocol::getinfo,
    job_list_protocol::list,
    job_list_protocol::list_id,
    job_list_protocol::list_attrs,
    job_list_protocol::job_stats,
    job_manager_protocol::getinfo,
    job_manager_protocol::list,
    job_manager_protocol::getattr,
    job_manager_protocol::events_journal,
    job_manager_protocol::drain,
    job_manager_protocol::idle,
    job_manager_protocol::queue_list,
    job_manager_protocol::queue_status,
    job_manager_protocol::alloc_query,
    kvs_protocol::lookup,
    kvs_protocol::lookup_plus,
    kvs_protocol::getroot,
    kvs_protocol::wait_version,
    kvs_protocol::namespace_list,
    kvs_watch_protocol::lookup,
    resource_protocol::status,
    resource_protocol::sched_status,
    resource_protocol::get,
    resource_protocol::journal,
};
constexpr std::array<std::string_view, 11> builtin = {
    "attr.get",      "attr.list",      "groups.get",       "log.dmesg",         "module.list",        "broker.ping",
    "broker.getenv", "overlay.health", "overlay.topology", "state-machine.get", "state-machine.wait",
};
// Every service has these.
constexpr std::array<std::string_view, 3> defaults = {"ping", "stats-get", "rusage"};

template <class List> bool contains(const List& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

} // namespace

bool may_repeat(const Message& request) noexcept {
    if (request.noresponse() || request.untagged()) return false;
    return contains(defaults, request.method()) || contains(builtin, request.topic) ||
           std::any_of(modules.begin(), modules.end(),
                       [&](const Method& method) { return method.topic == request.topic; });
}

} // namespace flux::broker
