// modules/job-info — what the KVS has of a job, for those who may know it. No state but open streams; reload: they go
// on.
#include "access.hpp"
#include "documents.hpp"
#include "event_watch.hpp"
#include "main_log.hpp"
#include "update_watch.hpp"

#include <flux/job_info_protocol.hpp>
#include <flux/kvs.hpp>
#include <flux/module.hpp>

#include <cerrno>

namespace flux::job_info {
namespace {

namespace protocol = job_info_protocol;

kvs::LookupOptions in_primary() { return kvs::LookupOptions().name_space(kvs_protocol::primary_namespace); }

/// A key that is looked up.
class Item {
public:
    Item(std::string key, Reply<kvs::Value> reply) : key(std::move(key)), reply(std::move(reply)) {}
    std::string key;
    Reply<kvs::Value> reply;
};

} // namespace

class JobInfo final : public Module {
public:
    using Module::Module;

    Task<> start() override {
        serve(protocol::lookup, &JobInfo::lookup);
        serve(protocol::eventlog_watch, &JobInfo::eventlog_watch);
        serve(protocol::eventlog_watch_cancel, &JobInfo::eventlog_watch_cancel);
        serve(protocol::update_watch, &JobInfo::update_watch);
        serve(protocol::update_watch_cancel, &JobInfo::update_watch_cancel);
        serve(protocol::update_lookup, &JobInfo::update_lookup);
        serve_stats(protocol::stats_get);
        serve(protocol::disconnect, &JobInfo::disconnect);
        co_return;
    }

    Json stats() override {
        return Json::object("lookups", lookups_, "watchers", events_.size(), "guest_watchers", guests_.size(),
                            "update_lookups", 0, "update_watchers", updates_.size());
    }

    std::optional<Json> park(const Request& request) override {
        for (const auto* watches : {&events_, &guests_, &updates_})
            if (const auto* watch = watches->find(request)) return watch->cursor();
        return std::nullopt;
    }

    void resume(Request request, JsonView cursor) override {
        if (request.message().topic == protocol::update_watch.topic)
            start_updates(std::move(request), cursor);
        else
            start_events(std::move(request), cursor);
    }

private:
    void eventlog_watch(Request request) { start_events(std::move(request), {}); }
    void eventlog_watch_cancel(Request request) {
        events_.cancel(request);
        guests_.cancel(request);
    }
    void update_watch(Request request) { start_updates(std::move(request), {}); }
    void update_watch_cancel(Request request) { updates_.cancel(request); }
    void disconnect(Request request) {
        for (auto* watches : {&events_, &guests_, &updates_}) watches->disconnect(request);
    }

    void start_events(Request request, JsonView cursor) {
        auto watch = std::make_unique<EventWatch>(context_, std::move(request), cursor);
        auto& watches = watch->is_guest() ? guests_ : events_;
        watches.start(std::move(watch));
    }

    void start_updates(Request request, JsonView cursor) {
        updates_.start(std::make_unique<UpdateWatch>(context_, std::move(request), cursor));
    }

    Task<> lookup(Request request) {
        auto payload = request.json();
        auto id = payload.get<JobId>("id");
        auto keys = payload.get<std::vector<std::string>>("keys");
        auto flags = payload.get<int>("flags");
        if (flags & ~(protocol::json_decode | protocol::current)) throw Error(EPROTO, "unknown flags");
        ++lookups_;
        std::vector<Item> items;
        for (const auto& key : keys) items.emplace_back(key, kvs::lookup(handle(), job_key(id, key), in_primary()));
        co_await access_.check(request.credentials(), id);
        std::string log;
        if (flags & protocol::current) log = co_await text_of(id, "eventlog");
        auto answer = Json::object("id", id);
        for (const auto& item : items) {
            auto text = co_await text_of(item);
            answer.set(item.key, present(item.key, std::move(text), flags, log));
        }
        request.respond(std::move(answer));
    }

    Task<> update_lookup(Request request) {
        auto id = request.json().get<JobId>("id");
        auto key = update_key(request.json());
        co_await access_.check(request.credentials(), id);
        auto log = co_await text_of(id, "eventlog");
        auto text = co_await text_of(id, key);
        auto flags = protocol::json_decode | protocol::current;
        request.respond(Json::object(key, present(key, std::move(text), flags, log)));
    }

    Task<std::string> text_of(JobId id, std::string key) {
        Item item(key, kvs::lookup(handle(), job_key(id, key), in_primary()));
        auto text = co_await text_of(item);
        co_return text;
    }

    Task<std::string> text_of(const Item& item) {
        try {
            auto value = co_await item.reply;
            co_return value.bytes();
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
        throw Error(ENOENT, item.key + ": key not found");
    }

    // A value as it was asked for. A text stays as it is stored unless something in it has changed.
    static Json present(const std::string& key, std::string text, int flags, const std::string& log) {
        if (key != "R" && key != "jobspec") return Json(text);
        auto document = Json::parse(text, key);
        bool changed = false;
        if (flags & protocol::current) {
            for (const auto& event : decode_eventlog(log)) {
                if (!is_update(key, event)) continue;
                apply_update(key, document, event);
                changed = true;
            }
        }
        if (flags & protocol::json_decode) return document;
        return Json(changed ? document.dump() : text);
    }

    std::uint64_t lookups_ = 0;
    Access access_{handle()};
    Watch::Context context_{handle(), scope(), access_};
    Watches events_;
    Watches guests_;
    Watches updates_;
};

} // namespace flux::job_info

FLUX_MODULE(flux::job_info::JobInfo, "job-info")
