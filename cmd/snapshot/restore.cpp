// flux-restore: read a KVS snapshot from an archive (kvs-content.md 9.3).
//
// Nothing of it can be seen before all of it was read and stored: an archive that is refused changes nothing.
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/run_command.hpp"
#include "cmd/snapshot/archive_reader.hpp"
#include "cmd/snapshot/commands.hpp"
#include "cmd/snapshot/progress.hpp"
#include "cmd/store/blob_store.hpp"
#include "cmd/store/edited_tree.hpp"

#include <flux/byte_size.hpp>
#include <flux/content_protocol.hpp>
#include <flux/hash.hpp>
#include <flux/kvs.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <deque>

namespace flux::snapshot {
namespace {

constexpr std::size_t default_requests = 256;

// Values that are shorter stand in their directory.
constexpr std::size_t inline_limit = 72;

// Bytes on their way to the store.
constexpr std::size_t bytes_limit = std::size_t(64) << 20;

// Stores with several requests under way.
class StoreWindow final : public store::Storage {
public:
    StoreWindow(store::BlobStore blobs, HashKind hash, std::size_t requests)
        : blobs_(blobs), hasher_(hash), requests_(requests) {}

    Task<Blobref> store(std::string bytes) override {
        while (calls_.size() >= requests_ || (bytes_ + bytes.size() > bytes_limit && !calls_.empty()))
            co_await settle();
        auto blob = hasher_(bytes);
        ++count_;
        bytes_ += bytes.size();
        auto size = bytes.size();
        calls_.emplace_back(blob, size, blobs_.store(std::move(bytes)));
        co_return blob;
    }

    // What is under way comes before it at the store.
    Task<std::string> load(Blobref blob) override {
        auto response = co_await blobs_.load(blob);
        co_return response.payload ? std::string(response.payload.bytes()) : std::string();
    }

    Task<> drained() {
        while (!calls_.empty()) co_await settle();
    }

    std::uint64_t count() const noexcept { return count_; }

private:
    struct Pending {
        Pending(Blobref blob, std::size_t size, Call call) : blob(blob), size(size), call(std::move(call)) {}
        Blobref blob;
        std::size_t size;
        Call call;
    };

    Task<> settle() {
        try {
            auto response = co_await calls_.front().call;
            if (!response.payload || response.payload.bytes() != calls_.front().blob.digest())
                throw Error(EPROTO, "the content store has another hash");
        } catch (const Error& error) {
            throw error.while_doing("error storing blob");
        }
        bytes_ -= calls_.front().size;
        calls_.pop_front();
    }

    store::BlobStore blobs_;
    Hasher hasher_;
    std::size_t requests_;
    std::deque<Pending> calls_;
    std::size_t bytes_ = 0;
    std::uint64_t count_ = 0;
};

// When an archive is only read.
class NoStorage final : public store::Storage {
public:
    Task<Blobref> store(std::string) override { co_return Blobref(); }
    Task<std::string> load(Blobref) override { co_return treeobj::encode(treeobj::make_dir()); }
};

class Restore {
public:
    Restore(const options::Parsed& parsed, Handle* handle)
        : parsed_(parsed), progress_(handle, parsed, "restored"), archive_(ArchiveReader::open(parsed.operands()[0])) {
        if (auto limit = parsed.find("size-limit")) size_limit_ = parse_byte_size(*limit);
    }

    static Task<int> check(Restore* self) {
        NoStorage nowhere;
        co_await self->read_all(&nowhere);
        self->progress_.finish();
        co_return 0;
    }

    static Task<int> run(Restore* self, store::BlobStore blobs, std::size_t requests) {
        if (self->parsed_.has("checkpoint")) co_await store::require_no_kvs(&blobs.handle(), "using --checkpoint");
        auto hash = co_await store::hash_kind(&blobs.handle());
        StoreWindow window(blobs, hash, requests);
        self->count_blobs_ = [&window] { return window.count(); };
        auto root = co_await self->read_all(&window);
        co_await window.drained();
        self->progress_.finish();
        co_await self->publish(&blobs, root);
        co_return 0;
    }

private:
    Task<Blobref> read_all(store::Storage* storage) {
        store::EditedTree tree(*storage);
        ArchiveReader::Entry entry;
        while (archive_.next(entry)) {
            if (size_limit_ && entry.size.value_or(0) > *size_limit_) {
                progress_.say(fmt::format("{} size {} exceeds {} limit, skipping", entry.name, *entry.size,
                                          parsed_.get("size-limit")));
                continue;
            }
            newest_ = std::max(newest_, entry.time);
            auto object = entry.link ? link_object(*entry.link) : Json();
            if (!entry.link) object = co_await value_object(storage);
            try {
                co_await tree.put(&entry.path, std::move(object));
            } catch (const Error& error) {
                if (error.errnum() != EISDIR && error.errnum() != ENOTDIR) throw;
                throw error.while_doing(parsed_.operands()[0] + ": " + entry.name);
            }
            progress_.more = count_blobs_ ? fmt::format(" ({} blobs)", count_blobs_()) : "";
            progress_.add(entry.name);
        }
        auto root = co_await tree.finish();
        if (count_blobs_) progress_.more = fmt::format(" ({} blobs)", count_blobs_());
        co_return root;
    }

    static Json link_object(std::string_view target) {
        auto colons = target.find("::");
        if (colons == target.npos) return treeobj::make_symlink(target);
        return treeobj::make_symlink(target.substr(colons + 2), target.substr(0, colons));
    }

    // One blob, unless it is larger than blobs may be.
    Task<Json> value_object(store::Storage* storage) {
        auto bytes = archive_.read(content_protocol::blob_size_limit);
        if (bytes.size() < inline_limit) co_return treeobj::make_val(bytes);
        std::vector<Blobref> blobs;
        while (!bytes.empty()) {
            bool whole = bytes.size() < content_protocol::blob_size_limit;
            auto blob = co_await storage->store(std::move(bytes));
            blobs.push_back(blob);
            bytes = whole ? std::string() : archive_.read(content_protocol::blob_size_limit);
        }
        co_return treeobj::make_valref(blobs);
    }

    Task<> publish(const store::BlobStore* blobs, Blobref root) {
        auto quiet = parsed_.has("quiet");
        auto short_name = root.to_string().substr(0, root.to_string().find('-') + 1 + 8);
        if (parsed_.has("checkpoint")) {
            if (!quiet) progress_.say(fmt::format("writing snapshot {} to checkpoint for next KVS start", short_name));
            store::Checkpoint checkpoint;
            checkpoint.root = root;
            checkpoint.timestamp = newest_ > 0 ? static_cast<double>(newest_) : store::now();
            auto value = checkpoint.to_json();
            co_await blobs->put_checkpoint(std::move(value));
        } else {
            std::string key(parsed_.get("key"));
            if (!quiet) progress_.say(fmt::format("writing snapshot {} to KVS key '{}'", short_name, key));
            kvs::Transaction transaction;
            auto reference = treeobj::make_dirref(root);
            transaction.put_treeobj(key, reference);
            co_await kvs::commit(blobs->handle(), transaction);
        }
        if (blobs->bypasses()) co_return;
        try {
            co_await blobs->handle().call(content_protocol::flush.topic, CallOptions().rank(0));
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            progress_.say(fmt::format("error flushing content: {}, ignoring", error.what()));
        }
    }

    const options::Parsed& parsed_;
    Progress progress_;
    ArchiveReader archive_;
    std::optional<std::uint64_t> size_limit_;
    std::function<std::uint64_t()> count_blobs_;
    std::int64_t newest_ = 0; // of the times in the archive
};

int run(cmd::Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    if (parsed.has("check")) {
        Restore restore(parsed, nullptr);
        return context.run(&Restore::check, &restore);
    }
    if (!parsed.has("checkpoint") && !parsed.has("key"))
        throw Error(EINVAL, "Please specify a restore target with --checkpoint or --key");
    if (parsed.has("checkpoint") && parsed.has("key"))
        throw Error(EINVAL, "--checkpoint and --key cannot be used together");
    auto requests = parsed.number<long long>("maxreqs", default_requests);
    if (requests <= 0) throw Error(EINVAL, "--maxreqs: must be greater than 0");
    store::BlobStore blobs(context.handle(), parsed.has("no-cache"));
    Restore restore(parsed, &context.handle());
    return context.run(&Restore::run, &restore, blobs, static_cast<std::size_t>(requests));
}

} // namespace
} // namespace flux::snapshot

int main(int argc, char** argv) {
    // Names in archives are made of UTF-8 whatever the terminal shows.
    std::setlocale(LC_CTYPE, "C.UTF-8");
    return flux::cmd::run_command(flux::snapshot::restore_command(&flux::snapshot::run), {argv + 1, argv + argc});
}
