// flux archive create, remove
#include "cmd/archive/scan.hpp"
#include "cmd/archive/subcommands.hpp"
#include "cmd/store/blob_store.hpp"
#include "libflux/file_archive/extract.hpp"

#include <flux/byte_size.hpp>
#include <flux/hash.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <deque>
#include <filesystem>

namespace flux::archive {
namespace {

constexpr std::uint64_t default_chunk_size = 1 << 20;
constexpr std::uint64_t default_threshold = 1 << 10;

// Blobs on their way to the store.
constexpr std::size_t window = 4;

std::uint64_t size_option(const options::Parsed& parsed, const char* name, std::uint64_t fallback) {
    auto text = parsed.find(name);
    return text ? parse_byte_size(*text) : fallback;
}

class Creation {
public:
    Creation(Handle& handle, const options::Parsed& parsed)
        : handle_(handle),
          parsed_(parsed),
          names_(parsed),
          blobs_(handle, false),
          chunk_size_(size_option(parsed, "chunksize", default_chunk_size)),
          threshold_(size_option(parsed, "small-file-threshold", default_threshold)) {}

    static Task<int> run(Creation* self) {
        co_await self->begin();
        std::vector<std::string> paths;
        for (const auto& path : self->parsed_.operands())
            walk(path, [&paths](const std::string& found) { paths.push_back(found); });
        for (const auto& path : paths) co_await self->add(path);
        self->transaction_.put(self->names_.key, self->files_.dump());
        auto options = kvs::CommitOptions().name_space(self->names_.name_space);
        co_await kvs::commit(self->handle_, self->transaction_, options);
        co_return 0;
    }

private:
    Task<> begin() {
        kind_ = co_await store::hash_kind(&handle_);
        try {
            auto options = kvs::LookupOptions().name_space(names_.name_space);
            auto value = co_await kvs::lookup(handle_, names_.key, options);
            if (!parsed_.has("overwrite") && !parsed_.has("append")) throw Error(EEXIST, names_.key + ": key exists");
            if (parsed_.has("append")) take_over(value.json());
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
            co_return;
        }
        if (parsed_.has("append") && parsed_.has("preserve")) co_await count_preserved();
        if (!parsed_.has("overwrite")) co_return;
        transaction_.unlink(names_.key).unlink(names_.blobs_key());
        co_await forget_mapped(&handle_, names_.name);
    }

    void take_over(const Json& archive) {
        for (const auto& [path, file] : file_archive::archived_files(archive)) {
            auto copy = file.copy();
            copy.set("path", path);
            files_.append(std::move(copy));
        }
    }

    Task<> count_preserved() {
        try {
            auto options = kvs::LookupOptions().name_space(names_.name_space).dir();
            auto value = co_await kvs::lookup(handle_, names_.blobs_key(), options);
            preserved_ = value.entries().size();
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
    }

    Task<> add(std::string path) {
        if (parsed_.has("verbose")) fmt::print("{}\n", path);
        ScannedFile file(path, chunk_size_, threshold_);
        if (!file.regions.empty()) {
            auto data = parsed_.has("mmap") ? map(file) : Json::array();
            if (parsed_.has("mmap"))
                co_await offer(path);
            else
                co_await store(&file, &data);
            file.object.set("data", std::move(data));
        }
        files_.append(std::move(file.object));
    }

    Json map(const ScannedFile& file) {
        Hasher hasher(kind_);
        auto data = Json::array();
        for (const auto& region : file.regions)
            data.append(Json::array_of(region.offset, region.size, hasher(file.read(region))));
        return data;
    }

    Task<> offer(std::string path) {
        auto whole = std::filesystem::canonical(path).string();
        auto payload = Json::object("path", whole, "chunksize", chunk_size_, "tag", names_.name);
        co_await handle_.call(content_protocol::mmap_add.topic, std::move(payload));
    }

    Task<> store(const ScannedFile* file, Json* data) {
        std::deque<Call> calls;
        std::size_t next = 0, done = 0;
        while (done < file->regions.size()) {
            for (; next < file->regions.size() && calls.size() < window; ++next)
                calls.push_back(blobs_.store(file->read(file->regions[next])));
            auto response = co_await calls.front();
            calls.pop_front();
            Blobref blob(kind_, response.payload.bytes());
            const auto& region = file->regions[done++];
            data->append(Json::array_of(region.offset, region.size, blob));
            if (parsed_.has("preserve")) {
                auto key = fmt::format("{}.{}", names_.blobs_key(), preserved_++);
                transaction_.put_treeobj(key, treeobj::make_valref(blob));
            }
        }
    }

    Handle& handle_;
    const options::Parsed& parsed_;
    Names names_;
    store::BlobStore blobs_;
    std::uint64_t chunk_size_;
    std::uint64_t threshold_;
    HashKind kind_ = HashKind::sha1;
    std::size_t preserved_ = 0; // blobs that a dump keeps
    Json files_ = Json::array();
    kvs::Transaction transaction_;
};

Task<int> remove(Handle* handle, const options::Parsed* parsed) {
    Names names(*parsed);
    bool missing = false;
    try {
        auto options = kvs::LookupOptions().name_space(names.name_space).treeobj();
        co_await kvs::lookup(*handle, names.key, options);
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
        missing = true;
    }
    if (missing && !parsed->has("force")) throw Error(ENOENT, names.key + " does not exist");
    kvs::Transaction transaction;
    transaction.unlink(names.key).unlink(names.blobs_key());
    auto options = kvs::CommitOptions().name_space(names.name_space);
    if (!missing) co_await kvs::commit(*handle, transaction, options);
    co_await forget_mapped(handle, names.name);
    co_return 0;
}

} // namespace

int run_create(cmd::Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    if (parsed.has("overwrite") && parsed.has("append"))
        throw Error(EINVAL, "--overwrite and --append cannot be used together");
    if (parsed.has("mmap") && (parsed.has("preserve") || parsed.has("no-force-primary")))
        throw Error(EINVAL, "--mmap cannot be used with --preserve or --no-force-primary");
    Creation creation(context.handle(), parsed);
    change_directory(parsed);
    return context.run(&Creation::run, &creation);
}

int run_remove(cmd::Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&remove, &context.handle(), &parsed);
}

} // namespace flux::archive
