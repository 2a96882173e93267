// The KVS service of a rank, see README.md. It owns no durable state: that is the content store's.
#include "committer.hpp"
#include "follower.hpp"
#include "lookup.hpp"
#include "store.hpp"

#include <flux/content_protocol.hpp>
#include <flux/duration.hpp>
#include <flux/kvs_protocol.hpp>
#include <flux/module.hpp>
#include <flux/overlay_protocol.hpp>
#include <flux/treeobj.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <unistd.h>

namespace flux::kvs_store {
namespace {

namespace protocol = kvs_protocol;

// Without a backing store the versions are in memory only: they pass to the next instance of the module with a stream
// that it has open to itself.
constexpr Method keep("kvs.keep", MethodClass::stream);

constexpr int lookup_flags = protocol::readdir | protocol::readlink | protocol::treeobj;

std::string primary() { return std::string(protocol::primary_namespace); }

// The one blob of a `rootdir`.
Blobref read_rootdir(JsonView rootdir) {
    treeobj::validate(rootdir);
    auto blobs = treeobj::blobrefs_of(rootdir);
    if (treeobj::type_of(rootdir) != treeobj::Type::dirref || blobs.size() != 1)
        throw Error(EINVAL, "kvs: rootdir is not a dirref");
    return blobs.front();
}

// As upstream tools expect it: the extremes are integers.
Json stats_json(const RunningStats& stats) {
    return Json::object("count", stats.count(), "min", static_cast<std::int64_t>(stats.min()), "mean", stats.mean(),
                        "stddev", stats.stddev(), "max", static_cast<std::int64_t>(stats.max()));
}

} // namespace

class Kvs final : public Module {
public:
    explicit Kvs(ModuleContext& context) : Module(context), store_(handle()), follower_(handle(), namespaces_) {}

    Task<> start() override {
        read_options();
        if (rank() == 0) co_await start_leader();
        config_changed(config());
        serve(protocol::lookup, &Kvs::lookup);
        serve(protocol::lookup_plus, &Kvs::lookup_plus);
        serve(protocol::getroot, &Kvs::getroot);
        serve(protocol::wait_version, &Kvs::wait_version);
        serve(protocol::namespace_list, &Kvs::namespace_list);
        serve(protocol::setroot_pause, &Kvs::setroot_pause);
        serve(protocol::setroot_unpause, &Kvs::setroot_unpause);
        serve_stats(protocol::stats_get);
        serve(protocol::disconnect, &Kvs::disconnect);
        if (rank() != 0) {
            serve(protocol::commit, &Kvs::forward_commit);
            auto on_resync = [this](const Message&) { follower_.resync(scope()); };
            co_await handle().subscribe(overlay_protocol::resync_event, on_resync);
            spawn("watch path", &Kvs::watch_path, this);
            co_return;
        }
        serve(protocol::commit, &Kvs::commit);
        serve(keep, &Kvs::keep_versions);
        serve(protocol::namespace_create, &Kvs::namespace_create);
        serve(protocol::namespace_remove, &Kvs::namespace_remove);
    }

    Task<> stop() override {
        if (committer_ && !reloading()) co_await committer_->finish();
    }

    std::optional<Json> park(const Request& request) override {
        if (request.message().topic != keep.topic) return std::nullopt;
        auto list = Json::array();
        for (const auto& [name, name_space] : namespaces_.all())
            list.append(namespace_json(*name_space, name_space->root));
        return Json::object("namespaces", std::move(list));
    }

    void resume(Request request, JsonView cursor) override {
        request.drop(); // its sender was the last instance
        add_namespaces(cursor);
    }

    void config_changed(JsonView config) override {
        auto table = config["kvs"];
        auto period = table.get_or("checkpoint-period", std::string("0"));
        double seconds = 0;
        try {
            seconds = parse_duration(period);
        } catch (const Error&) {
            throw Error(EINVAL, "invalid checkpoint-period config: " + period);
        }
        auto cache_limit = table.get_optional<std::uint64_t>("cache-limit");
        auto backlog_limit = table.get_optional<std::uint64_t>("backlog-limit");
        store_.cache().set_limit(cache_limit.value_or(Store::default_cache_limit));
        if (!committer_) return;
        committer_->set_backlog_limit(backlog_limit.value_or(Committer::default_backlog_limit));
        checkpoint_timer_.stop();
        if (seconds <= 0 || seconds > max_period) return;
        auto every = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
        checkpoint_timer_.start(every, every);
    }

    Json stats() override {
        auto sizes = store_.cache().sizes();
        auto bytes = static_cast<double>(store_.cache().bytes());
        std::size_t pending = lookups_ + (committer_ ? committer_->pending() : 0);
        auto list = Json::object();
        for (const auto& [name, name_space] : namespaces_.all()) {
            pending += name_space->version_waiters.size();
            auto waiting = committer_ ? committer_->waiting(name) : 0;
            list.set(name, Json::object("#versionwaiters", name_space->version_waiters.size(), "#no-op stores",
                                        name_space->noop_stores, "#transactions", waiting, "#readytransactions",
                                        waiting, "store revision", name_space->root.sequence));
        }
        if (list.empty())
            list.set(primary(), Json::object("#watchers", 0, "#no-op stores", 0, "#transactions", 0,
                                             "#readytransactions", 0, "store revision", 0));
        auto counts = committer_ ? committer_->operation_counts() : RunningStats();
        return Json::object("cache",
                            Json::object("obj size total (MiB)", bytes / (1 << 20), "obj size (KiB)", stats_json(sizes),
                                         "#obj dirty", 0, "#obj incomplete", 0, "#faults", store_.faults()),
                            "namespace", std::move(list), "transaction-opcount",
                            Json::object("commit", stats_json(counts)), "pending_requests", pending);
    }

private:
    // A checkpoint period that is longer is none.
    static constexpr double max_period = 1e9;

    // Start ---------------------------------------------------------------------------------------------------------

    void read_options() {
        for (const auto& option : args()) {
            auto value = option.substr(std::min(option.size(), option.find('=') + 1));
            if (option.starts_with("transaction-merge=") && (value == "0" || value == "1"))
                merge_ = value == "1";
            else if (option.starts_with("initial-rootref="))
                initial_root_ = Blobref::parse(value);
            else
                throw Error(EINVAL, "kvs: unknown option '" + option + "'");
        }
    }

    Task<> start_leader() {
        auto hash = co_await handle().get_attr(content_protocol::hash_attribute);
        committer_ =
            std::make_unique<Committer>(handle(), scope(), parse_hash_kind(hash.value_or("sha1")), store_, namespaces_);
        committer_->set_merge(merge_);
        auto empty = Directory().encode();
        auto ref = committer_->hasher()(empty);
        auto payload = Payload::from_bytes(std::move(empty));
        auto stored = co_await handle().call(content_protocol::store.topic, std::move(payload));
        if (!stored.payload || stored.payload.bytes() != ref.digest())
            throw Error(EPROTO, "kvs: the content store has another hash");
        co_await read_primary(ref);
        spawn("commits", &Kvs::run_commits, this);
        auto namespaces = co_await ask_store(content_backing_protocol::namespaces_get);
        if (namespaces)
            add_namespaces(namespaces->json());
        else
            keeper_.emplace(handle().stream(keep.topic));
    }

    Task<> run_commits() { co_await committer_->run(); }

    Task<> read_primary(Blobref empty) {
        kvs::Root root(initial_root_.value_or(empty), 0);
        if (!initial_root_) {
            auto response = co_await ask_store(content_protocol::checkpoint_get);
            auto value = response ? response->json()["value"] : JsonView();
            auto newest = value.is_array() ? value[0] : value;
            if (newest) root = read_checkpoint(newest);
        }
        namespaces_.add(std::make_shared<Namespace>(primary(), ::getuid(), 0, root));
    }

    kvs::Root read_checkpoint(JsonView checkpoint) {
        auto version = checkpoint.get<int>("version");
        if (version != 0 && version != 1) throw Error(EINVAL, fmt::format("kvs: checkpoint of version {}", version));
        kvs::Root root(checkpoint.get<Blobref>("rootref"), checkpoint.get_or("sequence", std::int64_t(0)));
        auto time = std::chrono::system_clock::from_time_t(static_cast<time_t>(checkpoint.get_or("timestamp", 0.0)));
        log(LogLevel::info, fmt::format("restored KVS from checkpoint on {:%FT%T}Z", fmt::gmtime(time)));
        committer_->checkpointed(root.sequence);
        return root;
    }

    void add_namespaces(JsonView list) {
        for (auto entry : list.get<JsonView>("namespaces").elements()) {
            kvs::Root root(entry.get<Blobref>("rootref"), entry.get<std::int64_t>("rootseq"));
            namespaces_.add(std::make_shared<Namespace>(entry.get<std::string>("namespace"),
                                                        static_cast<std::uint32_t>(entry.get<std::int32_t>("owner")),
                                                        entry.get<int>("flags"), root));
        }
    }

    // What the store has; nothing when it has none, or is none.
    Task<std::optional<Message>> ask_store(const Method& method) {
        try {
            auto response = co_await call(method.topic);
            co_return std::move(response);
        } catch (const Error& error) {
            if (error.errnum() != ENOENT && error.errnum() != ENOSYS) throw;
        }
        co_return std::nullopt;
    }

    // Methods -------------------------------------------------------------------------------------------------------

    Task<> lookup(Request request) { co_await answer_lookup(std::move(request), false); }
    Task<> lookup_plus(Request request) { co_await answer_lookup(std::move(request), true); }

    Task<> getroot(Request request) {
        auto name_space = co_await accessible(request);
        request.respond(namespace_json(*name_space, name_space->root));
    }

    Task<> wait_version(Request request) {
        auto sequence = request.json().get<std::int64_t>("rootseq");
        auto name_space = co_await accessible(request);
        if (name_space->root.sequence < sequence)
            name_space->version_waiters.add(request, sequence);
        else
            request.respond(Json::object("rootseq", name_space->root.sequence, "rootref", name_space->root.ref));
    }

    void commit(Request request) { committer_->commit(std::move(request)); }
    Task<> watch_path() {
        auto path = handle().stream(overlay_protocol::path.topic);
        bool held = false;
        while (auto update = co_await path.next()) {
            bool before = std::exchange(held, update->json().get<std::string_view>("state") == "held");
            if (held)
                follower_.hold();
            else if (before)
                follower_.resync(scope());
        }
    }

    Task<> forward_commit(Request request) { co_await follower_.commit(std::move(request)); }
    void keep_versions(Request request) { kept_ = std::move(request); }
    void namespace_create(Request request) { committer_->create(std::move(request)); }
    void namespace_remove(Request request) { committer_->remove(std::move(request)); }

    void namespace_list(Request request) {
        auto list = Json::array();
        for (const auto& [name, name_space] : namespaces_.all())
            list.append(Json::object("namespace", name, "owner", static_cast<std::int32_t>(name_space->owner), "flags",
                                     name_space->flags));
        request.respond(Json::object("namespaces", std::move(list)));
    }

    void setroot_pause(Request request) {
        auto name_space = namespaces_.find(request.json().get<std::string>("namespace"));
        if (!name_space) throw Error(ENOTSUP);
        name_space->paused = true;
        request.respond();
    }

    void setroot_unpause(Request request) {
        auto name_space = namespaces_.find(request.json().get<std::string>("namespace"));
        if (!name_space) throw Error(ENOTSUP);
        name_space->paused = false;
        if (auto held = std::exchange(name_space->held, std::nullopt)) name_space->set_root(*held);
        request.respond();
    }

    void disconnect(Request request) { namespaces_.disconnect(request); }

    // Their parts ---------------------------------------------------------------------------------------------------

    Task<NamespacePtr> known(std::string name) {
        if (rank() != 0) co_return co_await follower_.follow(std::move(name));
        auto name_space = namespaces_.find(name);
        if (!name_space) throw Error(ENOTSUP);
        co_return name_space;
    }

    // The namespace of a request, which its sender may use.
    Task<NamespacePtr> accessible(const Request& request) {
        auto name_space = co_await known(request.json().get<std::string>("namespace"));
        name_space->check_access(request.credentials());
        co_return name_space;
    }

    Task<> answer_lookup(Request request, bool plus) {
        auto payload = request.json();
        auto key = payload.get<std::string>("key");
        auto flags = payload.get<int>("flags") & lookup_flags;
        NamespacePtr name_space;
        kvs::Root root;
        if (auto rootdir = payload["rootdir"]) {
            root = kvs::Root(read_rootdir(rootdir), payload.get_or("rootseq", std::int64_t(0)));
        } else {
            name_space = co_await accessible(request);
            root = name_space->root;
        }
        Json answer = Json::object();
        ++lookups_;
        auto done = std::unique_ptr<std::size_t, void (*)(std::size_t*)>(&lookups_, [](std::size_t* n) { --*n; });
        try {
            if (!name_space) co_await check_rootdir(root.ref);
            Lookup walk(key, flags, root.ref);
            answer.set("val", co_await find(walk, request.credentials()));
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (!plus || error.errnum() != ENOENT) throw;
            answer.set("errno", ENOENT);
        }
        if (name_space && name_space->removed) throw Error(ENOTSUP);
        if (plus) {
            answer.set("rootseq", root.sequence);
            answer.set("rootref", root.ref);
        }
        request.respond(std::move(answer));
    }

    // A snapshot that is no directory is the caller's mistake, not a damaged tree.
    Task<> check_rootdir(Blobref ref) {
        try {
            co_await store_.load_directory(ref);
        } catch (const Error& error) {
            if (error.errnum() != ENOTRECOVERABLE) throw;
            throw Error(EINVAL, error.text());
        }
    }

    Task<Json> find(Lookup& walk, Credentials credentials) {
        auto source = store_.source();
        for (;;) {
            auto step = walk.step(source);
            if (auto* object = std::get_if<Json>(&step)) co_return std::move(*object);
            if (auto* directory = std::get_if<Lookup::NeedDirectory>(&step)) {
                co_await store_.load_directory(directory->ref);
            } else if (auto* target = std::get_if<Lookup::NeedNamespace>(&step)) {
                auto name_space = co_await known(target->name);
                name_space->check_access(credentials);
                walk.enter(name_space->root.ref);
            } else {
                auto value = co_await store_.load_value(std::get<Lookup::Blobs>(std::move(step)).refs);
                co_return treeobj::make_val(value);
            }
        }
    }

    NamespaceTable namespaces_;
    Store store_;
    Follower follower_;
    std::unique_ptr<Committer> committer_; // rank 0
    Timer checkpoint_timer_{loop(), [this] { committer_->checkpoint(); }};
    bool merge_ = true;
    std::optional<Blobref> initial_root_;
    std::size_t lookups_ = 0; // under way
    std::optional<Stream> keeper_;
    Request kept_; // of that
};

} // namespace flux::kvs_store

FLUX_MODULE(flux::kvs_store::Kvs, "kvs")
