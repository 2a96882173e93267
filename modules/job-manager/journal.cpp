#include "journal.hpp"

#include <cerrno>

namespace flux::job_manager {

namespace {

Json response_for(const Job& job, Json events) { return Json::object("id", job.id, "events", std::move(events)); }

void add_documents(Json& response, const Job& job) {
    if (!job.jobspec.is_null()) response.set("jobspec", job.jobspec.copy());
    if (!job.R.is_null()) response.set("R", job.R.copy());
}

} // namespace

bool Journal::Listener::wants(std::string_view name) const {
    return (allow.empty() || allow.contains(name)) && !deny.contains(name);
}

Journal::Listener Journal::make_listener(JsonView payload) {
    Listener listener;
    auto read = [&](std::string_view key, std::set<std::string, std::less<>>& names) {
        auto filter = payload[key];
        if (!filter) return;
        if (!filter.is_object()) throw Error(EPROTO, std::string(key) + " is no object");
        for (auto [name, one] : filter.members()) names.emplace(name);
    };
    read("allow", listener.allow);
    read("deny", listener.deny);
    return listener;
}

void Journal::listen(Request request) {
    request.require_streaming();
    auto payload = request.json_or_none();
    bool full = payload.get_or("full", false);
    auto& listener = listeners_.add(request, make_listener(payload));
    if (full)
        core_.scope.spawn("read inactive jobs", &Journal::prepare, this, request, std::shared_ptr<Json>());
    else
        go_live(request, listener, {});
}

Journal::Listener* Journal::find(const Request& request) noexcept {
    Listener* found = nullptr;
    listeners_.for_each([&](auto& entry) {
        if (&entry.request.message() == &request.message()) found = &entry.data;
    });
    return found;
}

// Jobs that are over by now come from the store, the others when the listener goes live. Those that end meanwhile are
// in `missed`.
Task<> Journal::read_inactive(Request request) {
    auto ids = co_await core_.archive.all_ids();
    auto* listener = find(request);
    std::erase_if(ids, [&](JobId id) { return core_.jobs.find(id) || (listener && listener->missed.contains(id)); });
    Json nothing;
    co_await send_stored(request, std::move(ids), nothing);
    co_await catch_up(request, std::move(nothing));
}

Task<> Journal::send_stored(Request request, std::vector<JobId> ids, JsonView seen) {
    Archive::Visit send = [this, request, seen](JobId id, std::unique_ptr<Job> job, const Error*) {
        auto* listener = find(request);
        if (job && listener) send_log(request, *listener, *job, seen.get_or<std::size_t>(id.dec(), 0));
    };
    co_await core_.archive.load_each(std::move(ids), send);
}

// Jobs that ended before the listener is live are read until there are none.
Task<> Journal::catch_up(Request request, Json seen) {
    while (auto* listener = find(request)) {
        if (listener->missed.empty()) {
            go_live(request, *listener, seen);
            break;
        }
        std::vector<JobId> missed(listener->missed.begin(), listener->missed.end());
        listener->missed.clear();
        co_await send_stored(request, std::move(missed), seen);
    }
}

Task<> Journal::prepare(Journal* self, Request request, std::shared_ptr<Json> seen) {
    try {
        if (seen)
            co_await self->catch_up(request, std::move(*seen));
        else
            co_await self->read_inactive(request);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        request.fail(error);
        self->listeners_.remove_if([](auto& entry) { return entry.request.answered(); });
    }
}

void Journal::send_log(const Request& request, const Listener& listener, const Job& job, std::size_t from) {
    auto events = Json::array();
    std::string_view log(job.eventlog);
    log = log.substr(0, job.durable);
    if (from >= log.size() && from > 0) return;
    for (auto& entry : decode_eventlog(log.substr(from))) {
        if (listener.wants(entry.name)) events.append(entry.to_json());
    }
    auto response = response_for(job, std::move(events));
    add_documents(response, job);
    request.respond(std::move(response));
}

void Journal::go_live(const Request& request, Listener& listener, JsonView seen) {
    for (auto& [id, job] : core_.jobs.all()) {
        if (job->durable > 0) send_log(request, listener, *job, seen.get_or<std::size_t>(id.dec(), 0));
    }
    if (!seen.is_object()) request.respond(Json::object("id", JobId::any(), "events", Json::array()));
    listener.live = true;
}

void Journal::on_event(const Job& job, const EventlogEntry& entry) {
    ++events_;
    if (listeners_.empty()) return;
    auto response = response_for(job, Json::array_of(entry.to_json()));
    if (entry.name == "submit" && !job.jobspec.is_null()) response.set("jobspec", job.jobspec.copy());
    if (entry.name == "alloc" && !job.R.is_null()) response.set("R", job.R.copy());
    auto payload = Payload::from_json(std::move(response));
    listeners_.for_each([&](auto& listener) {
        if (listener.data.live && listener.data.wants(entry.name)) listener.request.respond(payload);
    });
}

void Journal::on_removed(const Job& job) {
    listeners_.for_each([&](auto& entry) {
        if (!entry.data.live) entry.data.missed.insert(job.id);
    });
}

Json Journal::stats() const { return Json::object("listeners", listeners_.size(), "events", events_); }

std::optional<Json> Journal::park(const Request& request) {
    auto* listener = find(request);
    if (!listener || !listener->live) return std::nullopt; // it starts over
    auto cursor = Json::object();
    for (auto& [id, job] : core_.jobs.all()) cursor.set(id.dec(), job->durable);
    return cursor;
}

void Journal::resume(Request request, JsonView cursor) {
    auto& listener = listeners_.add(request, make_listener(request.json_or_none()));
    for (auto [id, bytes] : cursor.members()) {
        auto parsed = JobId::try_parse(id);
        if (parsed && !core_.jobs.find(*parsed)) listener.missed.insert(*parsed);
    }
    // Jobs may have ended while one instance of the module took over from the other.
    core_.scope.spawn("catch up", &Journal::prepare, this, request, std::make_shared<Json>(cursor.copy()));
}

} // namespace flux::job_manager
