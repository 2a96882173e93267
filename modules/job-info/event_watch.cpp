#include "event_watch.hpp"

#include "documents.hpp"

#include <flux/job_info_protocol.hpp>
#include <flux/shell_protocol.hpp>

#include <cerrno>

namespace flux::job_info {

namespace protocol = job_info_protocol;

EventWatch::EventWatch(Context& context, Request request, JsonView cursor)
    : Watch(context, std::move(request)),
      path_(this->request().json().get<std::string>("path")),
      flags_(this->request().json().get<int>("flags")),
      sent_(cursor.get_or<std::size_t>("bytes", 0)),
      sentinel_sent_(cursor.get_or("sentinel", false)) {
    if (flags_ & ~(protocol::wait_create | protocol::initial_sentinel)) throw Error(EPROTO, "unknown flags");
}

Json EventWatch::cursor() const { return Json::object("bytes", sent_, "sentinel", sentinel_sent_); }

Task<> EventWatch::run() {
    if (path_ == "eventlog") {
        co_await follow_main();
        co_return;
    }
    co_await access().check(request().credentials(), id());
    if (is_guest()) {
        co_await follow_guest(path_.substr(path_.find('.') + 1));
        co_return;
    }
    kvs::Watch watch(handle(), job_key(id(), path_), options().name_space(kvs_protocol::primary_namespace));
    co_await send_all(watch);
}

kvs::WatchOptions EventWatch::options() const {
    auto options = kvs::WatchOptions().append();
    if (flags_ & protocol::wait_create) options.wait_create();
    if (flags_ & protocol::initial_sentinel) options.sentinel();
    return options;
}

// The main log says itself whose job it is, and when it has ended.
Task<> EventWatch::follow_main() {
    kvs::Watch watch(handle(), job_key(id(), path_), options().name_space(kvs_protocol::primary_namespace));
    while (auto value = co_await watch.next()) {
        if (value->sentinel()) {
            send_sentinel();
            continue;
        }
        lines_.feed(value->bytes());
        while (auto line = lines_.next()) {
            auto event = EventlogEntry::decode(*line);
            if (position_ == 0) access().check_owner(request().credentials(), id(), owner_of(event));
            send(*line);
            co_await request().room();
            if (event.name == "clean") co_return;
        }
    }
}

// Where the log is depends on how far the job is.
Task<> EventWatch::follow_guest(std::string key) {
    main_.emplace(handle(), id());
    bool started = false;
    bool released = false;
    bool clean = false;
    while (auto event = co_await main_->next()) {
        started = started || event->name == "start";
        released = released || (event->name == "release" && event->context.get_or("final", false));
        clean = clean || event->name == "clean";
    }
    if (released) {
        main_.reset();
        co_await send_snapshot(std::move(key));
        if (flags_ & protocol::initial_sentinel) send_sentinel();
        co_return;
    }
    while (!started) {
        if (clean || main_->ended()) co_return; // it never began
        auto event = co_await main_->next();
        started = event && event->name == "start";
        clean = event && event->name == "clean";
    }
    co_await follow_namespace(std::move(key));
}

Task<> EventWatch::follow_namespace(std::string key) {
    guest_.emplace(handle(), key, options().name_space(shell_protocol::guest_namespace(id())));
    if (flags_ & protocol::wait_create)
        scope().spawn(
            "end of the job", [](EventWatch* self) { return self->end_with_job(); }, this);
    else
        main_.reset();
    try {
        co_await send_all(*guest_);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        if (error.errnum() != ENOTSUP) throw; // else the namespace is gone: there is a copy
    }
    guest_.reset();
    co_await send_snapshot(std::move(key));
}

// Who waits for a log in a namespace that is no more waits in vain.
Task<> EventWatch::end_with_job() {
    for (;;) {
        auto event = co_await main_->next();
        bool over =
            !event || event->name == "clean" || (event->name == "release" && event->context.get_or("final", false));
        if (!over) continue;
        if (guest_ && position_ == 0) guest_->cancel();
        co_return;
    }
}

// What the job has left, as far as it was not sent before.
Task<> EventWatch::send_snapshot(std::string key) {
    lines_ = LineBuffer();
    position_ = 0;
    auto options = kvs::WatchOptions().name_space(kvs_protocol::primary_namespace).pieces_only();
    kvs::Watch pieces(handle(), job_key(id(), "guest." + key), options);
    co_await send_all(pieces);
}

Task<> EventWatch::send_all(kvs::Watch& watch) {
    while (auto value = co_await watch.next()) {
        if (value->sentinel()) {
            send_sentinel();
            continue;
        }
        lines_.feed(value->bytes());
        while (auto line = lines_.next()) {
            send(*line);
            co_await request().room();
        }
    }
}

void EventWatch::send(const std::string& line) {
    position_ += line.size();
    if (position_ <= sent_) return;
    sent_ = position_;
    request().respond(Json::object("event", line));
}

void EventWatch::send_sentinel() {
    if (!std::exchange(sentinel_sent_, true)) request().respond();
}

} // namespace flux::job_info
