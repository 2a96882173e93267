// The kvs-watch service of a rank, see README.md. It owns no durable state.
#include "progress.hpp"

#include <flux/content_protocol.hpp>
#include <flux/kvs.hpp>
#include <flux/module.hpp>
#include <flux/overlay_protocol.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace flux::kvs_watch {
namespace {

namespace kvs_service = kvs_protocol;
namespace protocol = kvs_watch_protocol;

// Of a value so much is asked for at once, in so many blobs; how large those are is known when the first are there.
constexpr std::size_t load_bytes = std::size_t(1) << 20;
constexpr std::size_t load_blobs = 64;
constexpr std::size_t first_blobs = 2;

// Versions that may wait for a reader that is slow; of one that is further behind the newest take the place of the
// last.
constexpr std::size_t max_versions = 4096;

/// One open request.
struct Watcher {
    Watcher(Request request, std::string name_space, std::string key, int flags)
        : request(std::move(request)),
          name_space(std::move(name_space)),
          key(std::move(key)),
          progress(flags, this->request.streaming()) {}
    Request request;
    std::string name_space;
    std::string key; // normalised
    Progress progress;
    bool resumed = false;            // from another instance
    std::optional<Blobref> snapshot; // the version that is sent in pieces

    struct Version {
        Version(kvs::Root root, Cause cause) : root(root), cause(cause) {}
        kvs::Root root;
        Cause cause;
    };
    std::int64_t sequence = -1;   // of the version that was looked at last; -1: none yet
    std::deque<Version> versions; // to be looked at
    bool created = false;         // the namespace has come to be
    bool again = false;           // the versions are those of another leader: look anew
    bool over = false;
    Condition changed;
};
using WatcherPtr = std::shared_ptr<Watcher>;

/// A namespace that is watched: what its events say, and to whom.
struct Monitor {
    bool subscribed = false;
    Condition changed;
    std::int64_t owner = -1;
    std::optional<kvs::Root> root;
    unsigned removals = 0;
    std::vector<WatcherPtr> watchers;
};

std::string event_prefix(const std::string& name) { return fmt::format("{}{}-", kvs_service::event_prefix, name); }

// Whether a commit that names `name` may have made `key`: the key or a directory above it.
bool leads_to(std::string_view name, std::string_view key) {
    return key.starts_with(name) && (key.size() == name.size() || key[name.size()] == '.');
}

} // namespace

class KvsWatch final : public Module {
public:
    using Module::Module;

    Task<> start() override {
        serve(protocol::lookup, &KvsWatch::lookup);
        serve(protocol::cancel, &KvsWatch::cancel);
        serve_stats(protocol::stats_get);
        serve(protocol::disconnect, &KvsWatch::disconnect);
        auto on_resync = [this](const Message&) { resync(); };
        co_await handle().subscribe(overlay_protocol::resync_event, on_resync);
    }

    std::optional<Json> park(const Request& request) override {
        auto watcher = find(request);
        if (!watcher) return std::nullopt;
        auto cursor = watcher->progress.cursor();
        cursor.set("sequence", watcher->sequence);
        if (watcher->snapshot) cursor.set("snapshot", *watcher->snapshot);
        return cursor;
    }

    void resume(Request request, JsonView cursor) override {
        auto watcher = make(std::move(request));
        watcher->progress.restore(cursor);
        watcher->resumed = true;
        watcher->sequence = cursor.get<std::int64_t>("sequence");
        watcher->snapshot = cursor.get_optional<Blobref>("snapshot");
        begin(std::move(watcher));
    }

    Json stats() override {
        auto list = Json::object();
        std::size_t watchers = 0;
        for (const auto& [name, monitor] : monitors_) {
            watchers += monitor->watchers.size();
            list.set(name,
                     Json::object("owner", monitor->owner, "rootseq", monitor->root ? monitor->root->sequence : -1,
                                  "rootref", monitor->root ? monitor->root->ref.to_string() : "(null)", "watchers",
                                  monitor->watchers.size()));
        }
        return Json::object("watchers", watchers, "namespace-count", monitors_.size(), "namespaces", std::move(list));
    }

private:
    // Methods -------------------------------------------------------------------------------------------------------

    void lookup(Request request) { begin(make(std::move(request))); }

    void cancel(Request request) {
        auto matchtag = request.json().get<std::uint32_t>("matchtag");
        end_if(
            [&](const Watcher& watcher) {
                return watcher.request.matchtag() == matchtag && watcher.request.same_sender(request);
            },
            [](const Watcher& watcher) { watcher.request.end(); });
    }

    void disconnect(Request request) {
        end_if([&](const Watcher& watcher) { return watcher.request.same_sender(request); },
               [](const Watcher& watcher) { watcher.request.drop(); });
    }

    // Watchers ------------------------------------------------------------------------------------------------------

    static WatcherPtr make(Request request) {
        auto payload = request.json();
        auto name_space = payload.get<std::string>("namespace");
        auto key = kvs::normalize_key(payload.get<std::string_view>("key"));
        auto flags = payload.get<int>("flags");
        return std::make_shared<Watcher>(std::move(request), std::move(name_space), std::move(key), flags);
    }

    WatcherPtr find(const Request& request) const {
        for (const auto& [name, monitor] : monitors_)
            for (const auto& watcher : monitor->watchers)
                if (watcher->request.matchtag() == request.matchtag() && watcher->request.same_sender(request))
                    return watcher;
        return nullptr;
    }

    void begin(WatcherPtr watcher) {
        if (find(watcher->request)) throw Error(EINVAL, "kvs-watch: a look-up with this matchtag is under way");
        auto& monitor = monitors_[watcher->name_space];
        if (!monitor) {
            monitor = std::make_shared<Monitor>();
            spawn("subscribe", &KvsWatch::subscribe, this, watcher->name_space, monitor);
        }
        monitor->watchers.push_back(watcher);
        spawn("watch", &KvsWatch::watch, this, std::move(watcher), monitor);
    }

    Task<> subscribe(std::string name, std::shared_ptr<Monitor> monitor) {
        auto on_event = [this](const Message& event) { this->on_event(event); };
        auto subscribed = handle().subscribe(event_prefix(name), std::move(on_event));
        co_await subscribed;
        monitor->subscribed = true;
        monitor->changed.notify_all();
    }

    template <class Which, class Answer> void end_if(Which which, Answer answer) {
        std::vector<WatcherPtr> ended;
        for (const auto& [name, monitor] : monitors_)
            std::copy_if(monitor->watchers.begin(), monitor->watchers.end(), std::back_inserter(ended),
                         [&](const WatcherPtr& watcher) { return which(*watcher); });
        for (const auto& watcher : ended) {
            answer(*watcher);
            remove(watcher);
        }
    }

    // The watcher has had its last answer.
    void remove(const WatcherPtr& watcher) {
        watcher->over = true;
        watcher->changed.notify_all();
        auto at = monitors_.find(watcher->name_space);
        if (at == monitors_.end()) return;
        auto& watchers = at->second->watchers;
        std::erase(watchers, watcher);
        if (!watchers.empty()) return;
        handle().unsubscribe(event_prefix(watcher->name_space));
        monitors_.erase(at);
    }

    // One watcher from its first look to its end.
    Task<> watch(WatcherPtr watcher, std::shared_ptr<Monitor> monitor) {
        std::optional<Error> failure;
        try {
            while (!monitor->subscribed) co_await monitor->changed.wait();
            co_await first_look(watcher, monitor);
            while (!watcher->over) {
                if (std::exchange(watcher->again, false))
                    co_await first_look(watcher, monitor);
                else if (watcher->versions.empty())
                    co_await watcher->changed.wait();
                else
                    co_await look_at_next(watcher);
            }
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure = error;
        }
        if (watcher->over) co_return;
        if (failure) watcher->request.fail(*failure);
        remove(watcher);
    }

    Task<> look_at_next(WatcherPtr watcher) {
        auto version = watcher->versions.front();
        watcher->versions.pop_front();
        if (version.root.sequence <= watcher->sequence) co_return;
        try {
            co_await look(watcher, version.root, version.cause);
        } catch (const Error&) {
            if (!watcher->again) throw; // else: a version that the leader of now may not have
        }
    }

    // At what the namespace is now; where it is not there yet, wait for it if so wanted.
    Task<> first_look(WatcherPtr watcher, std::shared_ptr<Monitor> monitor) {
        if (watcher->snapshot) co_return co_await look(watcher, kvs::Root(*watcher->snapshot, 0), Cause::changed);
        for (;;) {
            watcher->created = false;
            auto removals = monitor->removals;
            auto query = Json::object("key", watcher->key, "flags", watcher->progress.lookup_flags(), "namespace",
                                      watcher->name_space);
            auto options = CallOptions().credentials(watcher->request.credentials());
            std::optional<Message> response;
            try {
                response = co_await handle().call(kvs_service::lookup_plus.topic, std::move(query), options);
            } catch (const Error& error) {
                if (error.errnum() != ENOTSUP || !watcher->progress.waiting() || watcher->sequence >= 0) throw;
            }
            if (watcher->over) co_return;
            if (!response) send_sentinel(watcher, watcher->progress.missing());
            if (response) {
                auto payload = response->json();
                kvs::Root root(payload.get<Blobref>("rootref"), payload.get<std::int64_t>("rootseq"));
                if (!monitor->root || monitor->root->sequence < root.sequence) monitor->root = root;
                auto cause = watcher->resumed ? Cause::changed : Cause::named;
                co_await found(watcher, *response, root, cause);
                if (watcher->over || monitor->removals == removals) co_return;
                throw Error(ENOTSUP); // the namespace went while the answer was on its way
            }
            while (!watcher->created && !watcher->over) co_await watcher->changed.wait();
            if (watcher->over) co_return;
        }
    }

    Task<> look(WatcherPtr watcher, kvs::Root root, Cause cause) {
        auto query = Json::object("key", watcher->key, "flags", watcher->progress.lookup_flags(), "rootdir",
                                  treeobj::make_dirref(root.ref), "rootseq", root.sequence);
        auto options = CallOptions().credentials(watcher->request.credentials());
        auto response = co_await handle().call(kvs_service::lookup_plus.topic, std::move(query), options);
        if (!watcher->over) co_await found(watcher, response, root, cause);
    }

    // Send what is new in a version.
    Task<> found(WatcherPtr watcher, const Message& response, kvs::Root root, Cause cause) {
        auto& progress = watcher->progress;
        auto object = response.json()["val"];
        Progress::Action action;
        if (object)
            action = progress.found(object, cause);
        else
            action = progress.missing();
        if (action.end && progress.in_pieces()) watcher->snapshot = root.ref;
        if (action.value) watcher->request.respond(Json::object("val", std::move(*action.value)));
        co_await watcher->request.room();
        if (watcher->over) co_return;
        co_await send_pieces(watcher, std::move(action.pieces));
        if (watcher->over) co_return;
        send_sentinel(watcher, action);
        watcher->sequence = root.sequence;
        if (!action.end) co_return;
        watcher->request.end();
        remove(watcher);
    }

    static void send_sentinel(const WatcherPtr& watcher, const Progress::Action& action) {
        if (!action.sentinel) return;
        watcher->request.respond();
        watcher->progress.sent_sentinel();
    }

    Task<> send_pieces(WatcherPtr watcher, std::vector<Blobref> pieces) {
        std::size_t window = first_blobs;
        for (std::size_t first = 0, end; first < pieces.size(); first = end) {
            std::vector<Call> calls;
            std::size_t size = 0;
            end = std::min(first + window, pieces.size());
            for (std::size_t i = first; i < end; ++i) {
                auto digest = Payload::from_bytes(std::string(pieces[i].digest()));
                calls.push_back(handle().call(content_protocol::load.topic, std::move(digest)));
            }
            for (std::size_t i = first; i < end; ++i) {
                auto blob = co_await calls[i - first];
                if (watcher->over) co_return;
                auto bytes = blob.payload ? blob.payload.bytes() : std::string_view();
                watcher->request.respond(Json::object("val", treeobj::make_val(bytes)));
                watcher->progress.sent(pieces[i]);
                size += bytes.size();
                co_await watcher->request.room();
                if (watcher->over) co_return;
            }
            window = std::clamp<std::size_t>(load_bytes * (end - first) / (size + 1), 1, load_blobs);
        }
    }

    // Events --------------------------------------------------------------------------------------------------------

    void on_event(const Message& event) {
        auto payload = event.json();
        auto name = payload["namespace"].try_as<std::string>();
        if (!name) return;
        auto at = monitors_.find(*name);
        if (at == monitors_.end()) return;
        auto monitor = at->second; // what follows may end its last watcher
        auto suffix = std::string_view(event.topic);
        suffix.remove_prefix(std::min(suffix.size(), kvs_service::event_prefix.size() + name->size()));
        if (suffix == kvs_service::setroot_suffix)
            on_setroot(*monitor, payload);
        else if (suffix == kvs_service::created_suffix)
            on_created(*monitor);
        else if (suffix == kvs_service::removed_suffix)
            on_removed(*monitor);
    }

    void on_setroot(Monitor& monitor, JsonView payload) {
        kvs::Root root(payload.get<Blobref>("rootref"), payload.get<std::int64_t>("rootseq"));
        // After a gap nobody knows what was named.
        bool gap = monitor.root && root.sequence > monitor.root->sequence + 1;
        monitor.owner = payload.get_or("owner", monitor.owner);
        monitor.root = root;
        auto keys = payload["keys"];
        for (const auto& watcher : monitor.watchers) {
            bool named = keys.contains(watcher->key);
            bool look = named || gap || watcher->progress.every_version();
            if (!look && watcher->progress.waiting())
                for (auto [key, null] : keys.members()) look = look || leads_to(key, watcher->key);
            if (!look) continue;
            // The pieces of the last version are those of all before it.
            if (watcher->progress.in_pieces()) watcher->versions.clear();
            if (watcher->versions.size() >= max_versions) watcher->versions.pop_back();
            watcher->versions.emplace_back(root, named ? Cause::named : Cause::changed);
            watcher->changed.notify_all();
        }
    }

    // The leader may be another one, with other versions: watchers go on by content.
    void resync() {
        for (const auto& [name, monitor] : monitors_) {
            monitor->root.reset();
            for (const auto& watcher : monitor->watchers) {
                if (watcher->sequence < 0) continue;
                watcher->versions.clear();
                watcher->resumed = watcher->again = true;
                watcher->changed.notify_all();
            }
        }
    }

    void on_created(Monitor& monitor) {
        for (const auto& watcher : monitor.watchers) {
            watcher->created = true;
            watcher->changed.notify_all();
        }
    }

    void on_removed(Monitor& monitor) {
        std::vector<WatcherPtr> ended;
        for (const auto& watcher : monitor.watchers)
            if (watcher->sequence >= 0) ended.push_back(watcher); // it has seen it
        monitor.root.reset();
        ++monitor.removals;
        for (const auto& watcher : ended) {
            watcher->request.fail(ENOTSUP);
            remove(watcher);
        }
    }

    std::map<std::string, std::shared_ptr<Monitor>> monitors_;
};

} // namespace flux::kvs_watch

FLUX_MODULE(flux::kvs_watch::KvsWatch, "kvs-watch")
