// modules/content-sqlite — backing store of the content cache on rank 0: blobs, checkpoints, namespaces and once rows
// in STATEDIR/content.sqlite. All state is in that file, durable when acknowledged. SQLite runs on the module's thread:
// one request is done before the next begins. Reload: the cache holds what it needs from here until the new instance
// says hello.
#include "collector.hpp"
#include "database.hpp"
#include "options.hpp"

#include <flux/content_protocol.hpp>
#include <flux/hash.hpp>
#include <flux/module.hpp>
#include <flux/running_stats.hpp>
#include <flux/service_watch.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <chrono>
#include <sys/stat.h>
#include <sys/statvfs.h>

using namespace std::chrono_literals;

namespace flux {
namespace {

namespace protocol = content_backing_protocol;

// The cache writes what it has before it lets go of its store.
constexpr auto unregister_limit = 20s;

class Stopwatch {
public:
    explicit Stopwatch(RunningStats& stats) : stats_(stats) {}
    ~Stopwatch() {
        stats_.add(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count());
    }

private:
    RunningStats& stats_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace

class ContentSqlite final : public Module {
public:
    using Module::Module;

    Task<> start() override {
        auto cleanup = co_await handle().get_attr("statedir-cleanup");
        auto statedir = co_await handle().get_attr("statedir");
        if (!statedir) throw Error(EINVAL, "attribute 'statedir' is not set: only rank 0 keeps a store");
        auto hash = co_await handle().get_attr(content_protocol::hash_attribute);
        hasher_.emplace(parse_hash_kind(hash.value_or("sha1")));
        open(*statedir, cleanup == "1");
        serve(protocol::hello, &ContentSqlite::hello);
        serve(protocol::load, &ContentSqlite::load);
        serve(protocol::store, &ContentSqlite::store);
        serve(protocol::validate, &ContentSqlite::validate);
        serve(protocol::checkpoint_get, &ContentSqlite::checkpoint_get);
        serve(protocol::checkpoint_put, &ContentSqlite::checkpoint_put);
        serve(protocol::commit, &ContentSqlite::commit);
        serve(protocol::namespaces_get, &ContentSqlite::namespaces_get);
        serve(protocol::once_get, &ContentSqlite::once_get);
        serve(protocol::gc_info, &ContentSqlite::gc_info);
        serve(protocol::mark, &ContentSqlite::mark);
        serve(protocol::sweep, &ContentSqlite::sweep);
        co_await add_service(protocol::service);
        // A cache that is being reloaded may be waiting for this store to write what it has, before its next instance
        // takes the registration.
        spawn("register", &ContentSqlite::enrol, this);
        cache_.emplace(handle(), scope(), "content", [this] { enrolled_.notify_all(); });
        while (!registered_ && !refusal_ && (cache_->changes() == 0 || cache_->up())) co_await enrolled_.wait();
        if (refusal_) throw *refusal_;
        started_ = true;
    }

    Task<> stop() override {
        if (!registered_) co_return;
        if (reloading()) {
            handle().notify(content_protocol::unregister_backing.topic, Json::object("reload", true));
            co_return;
        }
        auto options = CallOptions().deadline(unregister_limit);
        try {
            co_await call(content_protocol::unregister_backing.topic, options);
        } catch (const Error& error) {
            // Without a cache there is nobody who would miss this store.
            if (error.errnum() != ENOSYS) throw;
        }
    }

    Json stats() override {
        if (!database_) throw Error(EAGAIN, name() + " is starting");
        struct stat file {};
        struct statvfs file_system {};
        ::stat(options_.path.c_str(), &file);
        ::statvfs(options_.path.c_str(), &file_system);
        auto config = Json::object("journal_mode", "WAL", "synchronous", options_.synchronous);
        return Json::object("object_count", database_->object_count(), "current_epoch", database_->epoch(),
                            "dbfile_size", file.st_size, "dbfile_free", file_system.f_bavail * file_system.f_bsize,
                            "load_time", load_time_.to_json(), "store_time", store_time_.to_json(), "commit_time",
                            commit_time_.to_json(), "config", std::move(config), "checkpoints",
                            database_->checkpoints());
    }

private:
    Task<> enrol() {
        try {
            auto self = Json::object("name", name());
            co_await call(content_protocol::register_backing.topic, std::move(self));
            registered_ = true;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (started_) throw;
            refusal_ = error;
        }
        enrolled_.notify_all();
    }

    void open(const std::string& statedir, bool temporary) {
        std::vector<std::string> notices;
        options_ = parse_options(config(), args(), temporary, notices);
        options_.path = statedir + "/content.sqlite";
        for (const auto& notice : notices) log(LogLevel::notice, notice);
        database_.emplace(options_);
        collector_.emplace(database_->connection());
        log(LogLevel::debug, fmt::format("{} journal_mode=WAL synchronous={}", options_.path, options_.synchronous));
    }

    void hello(Request request) { request.respond(Json::object("name", name(), "uuid", uuid())); }

    void load(Request request) {
        Stopwatch watch(load_time_);
        auto bytes = database_->load(digest_of(request));
        if (!bytes) throw Error(ENOENT, errno_text(ENOENT));
        request.respond(Payload::from_bytes(std::move(*bytes)));
    }

    void store(Request request) {
        Stopwatch watch(store_time_);
        auto bytes = request.message().payload.bytes();
        auto blobref = (*hasher_)(bytes);
        database_->store(blobref.digest(), bytes);
        request.respond(Payload::from_bytes(std::string(blobref.digest())));
    }

    void validate(Request request) {
        if (!database_->contains(digest_of(request))) throw Error(ENOENT, errno_text(ENOENT));
        request.respond();
    }

    void commit(Request request) {
        Stopwatch watch(commit_time_);
        database_->commit(ContentCommit(request.message().payload.bytes(), hasher_->kind()));
        request.respond();
    }

    void checkpoint_get(Request request) {
        auto rows = database_->checkpoints();
        if (rows.empty()) throw Error(ENOENT);
        auto values = Json::array();
        for (auto row : rows.elements()) values.append(row["value"]);
        request.respond(Json::object("value", std::move(values)));
    }

    void checkpoint_put(Request request) {
        auto value = request.json().get<JsonView>("value");
        if (!value.is_object() && !value.is_array()) throw Error(EINVAL, "checkpoint is neither object nor array");
        database_->put_checkpoint(value);
        request.respond();
    }

    void namespaces_get(Request request) { request.respond(Json::object("namespaces", database_->namespaces())); }

    void once_get(Request request) {
        auto row = database_->once(request.json().get<std::string_view>("id"));
        if (!row) throw Error(ENOENT);
        request.respond(std::move(*row));
    }

    void gc_info(Request request) {
        auto payload = request.json();
        auto epoch = payload.get<std::int64_t>("epoch");
        auto info = Json::object("current_epoch", database_->epoch(), "high_water", collector_->high_water());
        if (payload.get_or("get_count", false)) info.set("candidates", collector_->candidates(epoch));
        request.respond(std::move(info));
    }

    void mark(Request request) {
        auto payload = request.json();
        auto epoch = payload.get<std::int64_t>("epoch");
        auto hashes = payload.get<std::vector<Blobref>>("hashes");
        if (hashes.size() > protocol::mark_limit) throw Error(EINVAL, "too many hashes");
        std::vector<std::string_view> digests;
        digests.reserve(hashes.size());
        for (const auto& blobref : hashes) {
            if (blobref.kind() != hasher_->kind())
                throw Error(EPROTO, fmt::format("{} is not of the instance's hash", blobref.to_string()));
            digests.push_back(blobref.digest());
        }
        request.respond(Json::object("marked", collector_->mark(epoch, digests)));
    }

    void sweep(Request request) {
        auto payload = request.json();
        auto epoch = payload.get<std::int64_t>("epoch");
        auto cursor = payload.get<std::int64_t>("cursor");
        auto high_water = payload.get<std::int64_t>("high_water");
        auto delete_cap = payload.get<std::int64_t>("delete_cap");
        auto window = payload.get<std::int64_t>("window");
        if (cursor < 0 || high_water < 0 || delete_cap <= 0 || window <= 0)
            throw Error(EINVAL, "cursor and high_water must not be negative, delete_cap and window must be positive");
        auto swept = collector_->sweep(epoch, cursor, high_water, delete_cap, window);
        request.respond(Json::object("deleted", swept.deleted, "cursor", swept.cursor));
    }

    std::string_view digest_of(const Request& request) const {
        auto digest = request.message().payload.bytes();
        if (digest.size() != digest_size(hasher_->kind()))
            throw Error(EPROTO, fmt::format("{} bytes are no {} digest", digest.size(), name_of(hasher_->kind())));
        return digest;
    }

    DatabaseOptions options_;
    std::optional<Hasher> hasher_;
    std::optional<Database> database_;
    std::optional<Collector> collector_; // uses the database: goes first
    RunningStats load_time_;
    RunningStats store_time_;
    RunningStats commit_time_;
    bool registered_ = false; // with the cache
    bool started_ = false;
    std::optional<Error> refusal_;
    std::optional<ServiceWatch> cache_;
    Condition enrolled_;
};

} // namespace flux

FLUX_MODULE(flux::ContentSqlite, "content-sqlite")
