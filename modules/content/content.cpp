// modules/content — cache of blobs on every rank. Rank 0 writes to the backing store and reads from it; others go
// through their parent. A blob stored here can be loaded everywhere; it is durable after a flush or with the next
// commit of the KVS. Reload: rank 0 writes what is dirty first; the new instance finds the backing store by itself.
#include "backing.hpp"
#include "blob_cache.hpp"
#include "file_blobs.hpp"
#include "forward.hpp"
#include "upstream.hpp"

#include <flux/content_protocol.hpp>
#include <flux/hash.hpp>
#include <flux/module.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <cerrno>

using namespace std::chrono_literals;

namespace flux {
namespace {

namespace protocol = content_protocol;

// How long stop() waits for dirty blobs to be written.
constexpr auto drain_limit = 10s;

} // namespace

class Content final : public Module {
public:
    explicit Content(ModuleContext& context) : Module(context), purge_timer_(loop(), [this] { purge(); }) {}

    Task<> start() override {
        parse_arguments();
        auto hash = co_await handle().get_attr(protocol::hash_attribute);
        if (!hash) {
            auto attribute = Json::object("name", protocol::hash_attribute, "value", "sha1");
            co_await call("attr.set", std::move(attribute));
        }
        hasher_.emplace(parse_hash_kind(hash.value_or("sha1")));
        serve(protocol::load, &Content::load);
        serve(protocol::store, &Content::store);
        serve(protocol::flush, &Content::flush);
        serve(protocol::dropcache, &Content::dropcache);
        serve_stats(protocol::stats_get);
        serve(protocol::checkpoint_get, &Content::checkpoint_get);
        serve(protocol::checkpoint_put, &Content::checkpoint_put);
        serve(protocol::register_backing, &Content::register_backing);
        serve(protocol::unregister_backing, &Content::unregister_backing);
        if (rank() > 0) {
            upstream_.emplace(handle(), cache_);
            co_return;
        }
        auto rundir = co_await handle().get_attr("rundir");
        files_.emplace(*hasher_, rundir.value_or(".") + "/content.mmap");
        auto on_error = [this](const Error& error) {
            log(LogLevel::warning, fmt::format("{}, ignoring", error.what()));
        };
        files_->restore(on_error);
        serve(protocol::mmap_add, &Content::mmap_add);
        serve(protocol::mmap_remove, &Content::mmap_remove);
        backing_.emplace(handle(), cache_, hasher_->kind(), flush_batch_limit_);
        serve(protocol::commit, &Content::commit);
        serve(protocol::disconnect, &Content::disconnect);
        backing_->discover();
    }

    Json stats() override {
        auto batch = backing_ ? backing_->batch_count() : upstream_->store_count();
        Json files;
        if (files_) files = files_->stats();
        return Json::object("count", cache_.count() + loading_.size(), "valid", cache_.count(), "dirty",
                            cache_.dirty_count(), "size", cache_.size(), "flush-batch-count", batch, "mmap",
                            std::move(files));
    }

    Task<> stop() override {
        if (!backing_) co_return;
        co_await backing_->drain(drain_limit);
        if (cache_.dirty_count()) log(LogLevel::err, fmt::format("{} unflushables", cache_.dirty_count()));
    }

private:
    void parse_arguments() {
        for (const auto& argument : args()) {
            auto equals = std::min(argument.find('='), argument.size());
            auto key = std::string_view(argument).substr(0, equals);
            auto value = std::string_view(argument).substr(std::min(equals + 1, argument.size()));
            auto* option = key == "purge-target-size"   ? &purge_target_size_
                           : key == "purge-old-entry"   ? &purge_old_entry_
                           : key == "flush-batch-limit" ? &flush_batch_limit_
                           : key == "blob-size-limit"   ? &blob_size_limit_
                                                        : nullptr;
            auto number = parse_integer<std::uint32_t>(value);
            if (!option || !number) throw Error(EINVAL, fmt::format("invalid argument '{}'", argument));
            *option = *number;
        }
        if (flush_batch_limit_ == 0) throw Error(EINVAL, "flush-batch-limit must not be 0");
    }

    void load(Request request) {
        auto digest = request.message().payload.bytes();
        if (digest.size() != digest_size(hasher_->kind())) throw Error(EPROTO);
        Blobref ref(hasher_->kind(), digest);
        if (auto* blob = cache_.get(ref, std::chrono::steady_clock::now())) return request.respond(*blob);
        if (files_) {
            if (auto bytes = files_->load(ref)) return request.respond(Payload::from_bytes(std::move(*bytes)));
        }
        auto& waiting = loading_[ref];
        waiting.push_back(std::move(request));
        if (waiting.size() > 1) return;
        auto done = [this, ref](const Message& response) { on_loaded(ref, response); };
        if (backing_)
            backing_->load(ref, done);
        else
            upstream_->load(ref, done);
    }

    void on_loaded(const Blobref& ref, const Message& response) {
        auto node = loading_.extract(ref);
        if (node.empty()) return; // a store was faster
        if (!response.errnum()) keep(ref, response.payload);
        for (const auto& request : node.mapped()) forward(request, response);
    }

    void keep(const Blobref& ref, Payload blob) {
        cache_.insert(ref, std::move(blob), std::chrono::steady_clock::now());
        watch_size();
    }

    void store(Request request) {
        auto blob = request.message().payload;
        auto size = blob.bytes().size();
        if (size > blob_size_limit_)
            throw Error(EFBIG, fmt::format("blob of {} bytes: {} (the limit is {})", size, errno_text(EFBIG),
                                           blob_size_limit_));
        auto ref = (*hasher_)(blob.bytes());
        if (auto node = loading_.extract(ref)) {
            for (const auto& waiting : node.mapped()) waiting.respond(blob);
        }
        if (upstream_) {
            upstream_->store(ref, request);
        } else {
            if (cache_.insert_dirty(ref, std::move(blob), std::chrono::steady_clock::now())) backing_->write(ref);
            request.respond(Payload::from_bytes(std::string(ref.digest())));
        }
        watch_size();
    }

    void commit(Request request) {
        backing_->commit(request);
        watch_size();
    }

    void flush(Request request) {
        if (backing_)
            backing_->flush(request);
        else
            upstream_->flush(request);
    }

    void checkpoint_get(Request request) {
        if (backing_)
            backing_->checkpoint_get(request);
        else
            upstream_->checkpoint_get(request);
    }

    void checkpoint_put(Request request) {
        request.json().get<JsonView>("value");
        if (backing_)
            backing_->checkpoint_put(request);
        else
            upstream_->checkpoint_put(request);
    }

    void register_backing(Request request) {
        if (!backing_) throw Error(EINVAL, "content backing store can only be registered on rank 0");
        backing_->register_store(request);
    }

    void unregister_backing(Request request) {
        if (!backing_) throw Error(EINVAL, "content backing store is not active");
        backing_->unregister_store(request);
    }

    void disconnect(Request request) { backing_->disconnect(request); }

    void mmap_add(Request request) {
        auto payload = request.json();
        auto chunk_size = payload.get<std::uint32_t>("chunksize");
        files_->add(payload.get<std::string>("path"), chunk_size, payload.get<std::string>("tag"));
        request.respond();
    }

    void mmap_remove(Request request) {
        files_->remove(request.json().get<std::string>("tag"));
        request.respond();
    }

    void dropcache(Request request) {
        auto total = cache_.count();
        auto dropped = cache_.drop_clean();
        log(LogLevel::debug, fmt::format("content dropcache {}/{}", dropped, total));
        request.respond();
    }

    // The clock runs only while there is something to drop. What a flood brings does not grow old first.
    void watch_size() {
        if (cache_.size() > std::size_t(purge_target_size_) / 4 * 5)
            cache_.purge(purge_target_size_, std::chrono::steady_clock::now());
        if (cache_.size() > purge_target_size_ && !purge_timer_.active())
            purge_timer_.start(std::max<std::chrono::seconds>(1s, std::chrono::seconds(purge_old_entry_)));
    }

    void purge() {
        cache_.purge(purge_target_size_, std::chrono::steady_clock::now() - std::chrono::seconds(purge_old_entry_));
        watch_size();
    }

    std::uint32_t purge_target_size_ = 16 << 20;
    std::uint32_t purge_old_entry_ = 10; // seconds
    std::uint32_t flush_batch_limit_ = 256;
    std::uint32_t blob_size_limit_ = protocol::blob_size_limit;
    std::optional<Hasher> hasher_;
    BlobCache cache_;
    std::unordered_map<Blobref, std::vector<Request>> loading_;
    std::optional<FileBlobs> files_;   // on rank 0
    std::optional<Backing> backing_;   // on rank 0
    std::optional<Upstream> upstream_; // on the others
    Timer purge_timer_;
};

} // namespace flux

FLUX_MODULE(flux::Content, "content")
