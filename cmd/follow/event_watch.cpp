#include "cmd/follow/event_watch.hpp"

namespace flux::follow {
namespace {

Stream begin(Handle& handle, JobId id, std::string_view path, int flags) {
    auto options = CallOptions().cancel_topic(std::string(job_info_protocol::eventlog_watch_cancel.topic));
    return handle.stream(job_info_protocol::eventlog_watch.topic, Json::object("id", id, "path", path, "flags", flags),
                         options);
}

} // namespace

EventWatch::EventWatch(Handle& handle, JobId id, std::string_view path, int flags)
    : stream_(begin(handle, id, path, flags)) {}

std::optional<EventWatch::Item> EventWatch::Awaiter::await_resume() {
    auto message = next_.await_resume();
    if (!message) return std::nullopt;
    auto payload = message->json();
    if (!payload) return Item();
    return Item(EventlogEntry::decode(payload.get<std::string_view>("event")));
}

} // namespace flux::follow
