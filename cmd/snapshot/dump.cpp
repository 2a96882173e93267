// flux-dump: write a KVS snapshot to an archive (kvs-content.md 9.2).
//
// What runs has its part of the KVS in a namespace of its own, to which `job.ID.guest` links. The archive has a
// directory in place of the link, as it is when the job is over.
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/run_command.hpp"
#include "cmd/snapshot/archive_writer.hpp"
#include "cmd/snapshot/commands.hpp"
#include "cmd/snapshot/progress.hpp"
#include "cmd/store/blob_store.hpp"
#include "cmd/store/tree_walk.hpp"

#include <flux/content_protocol.hpp>
#include <flux/job_id.hpp>
#include <flux/kvs.hpp>
#include <flux/shell_protocol.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <map>

namespace flux::snapshot {
namespace {

constexpr std::size_t default_requests = 2;

// The head of a file in an archive has its size. Of a value that is larger than this, blobs are loaded twice: to know
// it, and to write them.
constexpr std::size_t keep_limit = std::size_t(8) << 20;

std::string path_of(std::string key) {
    std::replace(key.begin(), key.end(), '.', '/');
    return key;
}

std::string_view bytes_of(const Message& response) {
    return response.payload ? response.payload.bytes() : std::string_view();
}

class Dump {
public:
    Dump(store::BlobStore blobs, const options::Parsed& parsed, std::size_t requests)
        : blobs_(blobs),
          parsed_(parsed),
          requests_(requests),
          progress_(&blobs_.handle(), parsed, "archived"),
          archive_(parsed.operands()[0]),
          walk_([this](const Blobref& blob) { return blobs_.load(blob); },
                [this](const Blobref& blob) { return blobs_.load(blob); }, requests) {}

    static Task<int> run(Dump* self) { return self->walk(); }

private:
    Task<int> walk() {
        co_await find_root();
        store::TreeWalk::Found found;
        while (co_await walk_.next(&found)) {
            if (found.failure)
                skip(found.key, "could not load content", *found.failure);
            else if (found.type == treeobj::Type::val)
                add_value(found);
            else if (found.type == treeobj::Type::symlink)
                co_await add_link(found);
            else if (found.type == treeobj::Type::valref)
                co_await add_blobs(found);
        }
        archive_.close();
        progress_.finish();
        co_return 0;
    }

    Task<> find_root() {
        time_ = static_cast<std::int64_t>(store::now());
        if (!parsed_.has("checkpoint")) {
            auto name = kvs::default_namespace();
            whole_ = name == kvs_protocol::primary_namespace;
            auto root = co_await kvs::getroot(blobs_.handle(), name);
            walk_.add("", root.ref);
            co_return;
        }
        try {
            auto checkpoint = co_await store::newest_checkpoint(&blobs_);
            time_ = static_cast<std::int64_t>(checkpoint.timestamp);
            walk_.add("", checkpoint.root);
        } catch (const Error& error) {
            throw error.while_doing("error fetching checkpoints");
        }
        co_await find_namespaces();
    }

    // Without the KVS it is the store that knows the namespaces. One of another kind has none.
    Task<> find_namespaces() {
        try {
            auto method = content_backing_protocol::namespaces_get;
            auto reply = co_await blobs_.handle().call(method.topic, CallOptions().rank(0));
            for (auto entry : reply.json().get<JsonView>("namespaces").elements())
                roots_[entry.get<std::string>("namespace")] = entry.get<Blobref>("rootref");
        } catch (const Error& error) {
            if (error.errnum() != ENOSYS) throw;
        }
    }

    void add_value(const store::TreeWalk::Found& found) {
        auto value = treeobj::value_of(found.object);
        auto path = path_of(found.key);
        archive_.begin_file(path, value.size());
        archive_.write(value);
        progress_.add(path);
    }

    Task<> add_link(const store::TreeWalk::Found& found) {
        auto link = treeobj::link_of(found.object);
        std::string target(link.target);
        if (link.name_space) {
            std::string name(*link.name_space);
            if (target == "." && is_guest(found.key, name)) {
                auto root = co_await guest_root(found.key, name);
                if (root) {
                    walk_.add(found.key, *root);
                    co_return;
                }
            }
            target = name + "::" + target;
        }
        auto path = path_of(found.key);
        archive_.add_link(path, target);
        progress_.add(path);
    }

    bool is_guest(std::string_view key, const std::string& name_space) const {
        constexpr std::string_view guest = ".guest";
        if (!whole_ || !key.ends_with(guest)) return false;
        key.remove_suffix(guest.size());
        auto id = JobId::try_parse(key);
        return id && id->kvs() == key && shell_protocol::guest_namespace(*id) == name_space;
    }

    // What a running job has written. Nothing when that is nowhere.
    Task<std::optional<Blobref>> guest_root(std::string key, std::string name_space) {
        if (parsed_.has("checkpoint")) {
            auto found = roots_.find(name_space);
            if (found != roots_.end()) co_return found->second;
            co_return std::nullopt;
        }
        try {
            auto root = co_await kvs::getroot(blobs_.handle(), name_space);
            co_return root.ref;
        } catch (const Error& error) {
            if (error.errnum() != ENOTSUP && error.errnum() != ENOENT) throw;
        }
        // It has ended since the root was taken.
        try {
            auto options = kvs::LookupOptions().name_space(kvs_protocol::primary_namespace).treeobj();
            auto value = co_await kvs::lookup(blobs_.handle(), key, options);
            auto object = value.object();
            if (treeobj::type_of(object) == treeobj::Type::dirref) co_return treeobj::blobrefs_of(object).front();
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
        co_return std::nullopt;
    }

    Task<> add_blobs(const store::TreeWalk::Found& found) {
        std::vector<Message> kept;
        std::uint64_t size = 0, kept_size = 0;
        for (std::size_t index = 0; index < found.blobs.size(); ++index) {
            try {
                auto response = co_await walk_.next_blob();
                auto bytes = bytes_of(response).size();
                if (kept_size == size && (index == 0 || size + bytes <= keep_limit)) {
                    kept_size += bytes;
                    kept.push_back(std::move(response));
                }
                size += bytes;
            } catch (const Cancelled&) {
                throw;
            } catch (const Error& error) {
                skip(found.key, fmt::format("missing blobref {}", index), error);
                co_return;
            }
        }
        auto path = path_of(found.key);
        archive_.begin_file(path, size, time_);
        for (const auto& response : kept) archive_.write(bytes_of(response));
        co_await write_again(&found.blobs, kept.size());
        progress_.add(path);
    }

    // The blobs from `index` on, which were loaded before.
    Task<> write_again(const std::vector<Blobref>* blobs, std::size_t index) {
        std::deque<Call> calls;
        while (index < blobs->size() || !calls.empty()) {
            for (; index < blobs->size() && calls.size() < requests_; ++index)
                calls.push_back(blobs_.load((*blobs)[index]));
            auto response = co_await calls.front();
            archive_.write(bytes_of(response));
            calls.pop_front();
        }
    }

    void skip(const std::string& key, const std::string& what, const Error& error) {
        auto text = fmt::format("{}: {}: {}", path_of(key), what, error.what());
        if (!parsed_.has("ignore-failed-read")) throw Error(error.errnum(), text);
        progress_.say(text);
    }

    store::BlobStore blobs_;
    const options::Parsed& parsed_;
    std::size_t requests_;
    std::int64_t time_ = 0;
    bool whole_ = true;                    // all of the KVS, with the namespaces of jobs
    std::map<std::string, Blobref> roots_; // of namespaces, as the store has them
    Progress progress_;
    ArchiveWriter archive_;
    store::TreeWalk walk_;
};

int run(cmd::Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    auto requests = parsed.number<long long>("maxreqs", default_requests);
    if (requests <= 0) throw Error(EINVAL, "--maxreqs: must be greater than 0");
    store::BlobStore blobs(context.handle(), parsed.has("no-cache"));
    Dump dump(blobs, parsed, static_cast<std::size_t>(requests));
    return context.run(&Dump::run, &dump);
}

} // namespace
} // namespace flux::snapshot

int main(int argc, char** argv) {
    // Names in archives are made of UTF-8 whatever the terminal shows.
    std::setlocale(LC_CTYPE, "C.UTF-8");
    return flux::cmd::run_command(flux::snapshot::dump_command(&flux::snapshot::run), {argv + 1, argv + argc});
}
