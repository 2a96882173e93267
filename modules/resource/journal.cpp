#include "journal.hpp"

#include <flux/kvs_protocol.hpp>
#include <flux/resource_protocol.hpp>

#include <algorithm>

namespace flux::resource {
namespace {

// Events in one response of the backlog.
constexpr std::size_t backlog_batch = 100;

bool is_define(const EventlogEntry& event) { return event.name == "resource-define"; }

} // namespace

Journal::Journal(Handle& handle, Apply apply, CurrentR current_R)
    : apply_(std::move(apply)),
      current_R_(std::move(current_R)),
      writer_(handle,
              kvs::WriterOptions().name_space(kvs_protocol::primary_namespace).flags(kvs_protocol::wait_space)) {}

void Journal::remember(std::vector<EventlogEntry> events) {
    for (auto& event : events)
        if (!is_define(event)) backlog_.push_back(std::move(event));
    shorten();
}

void Journal::set_limit(std::size_t events) {
    limit_ = events;
    shorten();
}

void Journal::shorten() {
    while (backlog_.size() > limit_) {
        truncated_ = backlog_.front().timestamp;
        backlog_.pop_front();
    }
    own_ = std::min(own_, backlog_.size());
}

void Journal::post(EventlogEntry event) {
    queue_.emplace_back(std::move(event), true, Done());
    flush();
}

void Journal::commit(EventlogEntry event, Done done, kvs::Transaction changes) {
    changes.append(resource_protocol::eventlog_key, event.encode());
    auto& item = queue_.emplace_back(std::move(event), false, std::move(done));
    writer_.add(std::move(changes), [this, &item](const Error* failure) {
        if (failure) item.failure = *failure;
        item.ready = true;
        flush();
    });
}

void Journal::flush() {
    while (!queue_.empty() && queue_.front().ready) {
        auto item = std::move(queue_.front());
        queue_.pop_front();
        if (item.done) item.done(item.failure ? &*item.failure : nullptr);
        if (item.failure) continue;
        apply_(item.event);
        publish(item.event);
        backlog_.push_back(std::move(item.event));
        ++own_;
        shorten();
    }
    if (queue_.empty()) settled_.notify_all();
}

Task<> Journal::settled() {
    while (!idle()) co_await settled_.wait();
}

Json Journal::response(Json events, bool define) const {
    auto result = Json::object("events", std::move(events));
    if (define) result.set("R", current_R_());
    return result;
}

void Journal::publish(const EventlogEntry& event) {
    if (followers_.empty()) return;
    auto payload = Payload::from_json(response(Json::array_of(event.to_json()), is_define(event)));
    followers_.for_each([&](auto& entry) { entry.request.respond(payload); });
}

void Journal::send_backlog(const Request& request, std::size_t from) const {
    auto events = Json::array();
    auto send = [&] {
        if (!events.empty()) request.respond(response(std::exchange(events, Json::array()), false));
    };
    if (from == 0 && truncated_) events.append(EventlogEntry(*truncated_, "truncate").to_json());
    for (auto at = from; at < backlog_.size(); ++at) {
        const auto& event = backlog_[at];
        if (is_define(event)) {
            send();
            request.respond(response(Json::array_of(event.to_json()), true));
            continue;
        }
        events.append(event.to_json());
        if (events.size() == backlog_batch) send();
    }
    send();
}

void Journal::follow(Request request) {
    send_backlog(request, 0);
    request.respond(response(Json::array(), false));
    followers_.add(std::move(request));
}

void Journal::follow_on(Request request) {
    send_backlog(request, backlog_.size() - own_);
    followers_.add(std::move(request));
}

} // namespace flux::resource
