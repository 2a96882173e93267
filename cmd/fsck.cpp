// flux fsck: look whether all that the KVS refers to is there, and make do with what is (kvs-content.md 9.4).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/output/convert.hpp"
#include "cmd/store/blob_store.hpp"
#include "cmd/store/edited_tree.hpp"
#include "cmd/store/tree_walk.hpp"

#include <flux/content_protocol.hpp>
#include <flux/job_id.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <unistd.h>

namespace flux::cmd {
namespace {

namespace backing = content_backing_protocol;

constexpr std::size_t requests = 1000;
constexpr const char* lost_and_found = "lost+found";

// Blobs of the backing store.
class DirectStorage final : public store::Storage {
public:
    DirectStorage(store::BlobStore blobs, HashKind hash) : blobs_(blobs), hash_(hash) {}
    Task<Blobref> store(std::string bytes) override {
        auto response = co_await blobs_.store(std::move(bytes));
        co_return Blobref(hash_, response.payload.bytes());
    }
    Task<std::string> load(Blobref blob) override {
        auto response = co_await blobs_.load(blob);
        co_return response.payload ? std::string(response.payload.bytes()) : std::string();
    }

private:
    store::BlobStore blobs_;
    HashKind hash_;
};

class Check {
public:
    Check(Handle& handle, const options::Parsed& parsed)
        : blobs_(handle, true),
          parsed_(parsed),
          walk_([this](const Blobref& blob) { return blobs_.load(blob); },
                [this](const Blobref& blob) { return validate(blob); }, requests) {}

    static Task<int> run(Check* self) {
        auto repair = self->parsed_.has("repair");
        if (repair) co_await store::require_no_kvs(&self->blobs_.handle(), "using flux-fsck --repair");
        co_await self->find_root();
        co_await self->look();
        if (repair && !(self->values_.empty() && self->directories_.empty())) co_await self->repair();
        if (self->errors_ > 0 || self->parsed_.has("verbose"))
            self->say(fmt::format("Total errors: {}", self->errors_));
        if (repair) self->tell_of_repairs();
        co_return self->errors_ > 0 ? 1 : 0;
    }

private:
    // A value that has lost blobs, with those that are left.
    struct Damaged {
        std::string key;
        std::vector<Blobref> left;
    };

    void say(const std::string& text) const {
        if (::isatty(STDERR_FILENO))
            fmt::print(stderr, "{}\n", text);
        else
            fmt::print(stderr, "{}", parsed_.failure_line(text));
    }
    void say_unless_quiet(const std::string& text) const {
        if (!parsed_.has("quiet")) say(text);
    }

    Call validate(const Blobref& blob) const {
        auto digest = Payload::from_bytes(std::string(blob.digest()));
        return blobs_.handle().call(backing::validate.topic, std::move(digest), CallOptions().rank(0));
    }

    Task<> find_root() {
        if (auto given = parsed_.find("rootref")) {
            checkpoint_.root = Blobref::parse(*given);
        } else {
            try {
                checkpoint_ = co_await store::newest_checkpoint(&blobs_);
            } catch (const Error& error) {
                throw error.while_doing("error fetching checkpoints");
            }
            if (!parsed_.has("quiet"))
                fmt::print("Checking integrity of checkpoint from {}\n",
                           output::local_time(checkpoint_.timestamp, "%Y-%m-%dT%T"));
            std::fflush(stdout);
        }
        walk_.add("", checkpoint_.root);
    }

    Task<> look() {
        store::TreeWalk::Found found;
        while (co_await walk_.next(&found)) {
            if (parsed_.has("verbose") && !found.key.empty()) say_unless_quiet(found.key);
            if (found.malformed)
                bad(found.key, found.failure->what());
            else if (found.failure)
                bad_directory(found.key, *found.failure);
            else if (found.type == treeobj::Type::valref)
                co_await look_at_value(found);
        }
    }

    void bad(const std::string& key, const std::string& what) {
        ++errors_;
        say(key + ": " + what);
    }

    void bad_directory(const std::string& key, const Error& error) {
        if (error.errnum() != ENOENT) {
            bad(key, fmt::format("error retrieving dirref blobref: {}", error.what()));
            return;
        }
        bad(key, "missing dirref blobref");
        if (!key.empty()) directories_.push_back(key);
    }

    Task<> look_at_value(const store::TreeWalk::Found& found) {
        std::vector<Blobref> left;
        std::optional<Error> failure;
        for (std::size_t index = 0; index < found.blobs.size(); ++index) {
            auto error = co_await look_at_blob(found.blobs[index]);
            if (!error) {
                left.push_back(found.blobs[index]);
                continue;
            }
            if (parsed_.has("verbose")) say_about_blob(found.key, fmt::format(" index={}", index), *error);
            // One that may be there still is the worse: nothing is given up then.
            if (!failure || failure->errnum() == ENOENT) failure = error;
        }
        if (!failure) co_return;
        ++errors_;
        if (!parsed_.has("verbose")) say_about_blob(found.key, "(s)", *failure);
        if (failure->errnum() == ENOENT) values_.push_back({found.key, std::move(left)});
    }

    Task<std::optional<Error>> look_at_blob(Blobref blob) {
        std::optional<Error> failure;
        try {
            co_await walk_.next_blob();
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure = error;
        }
        if (!failure || failure->errnum() != ENOSYS) co_return failure;
        // A store that cannot tell without giving it.
        failure.reset();
        try {
            co_await blobs_.load(blob);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure = error;
        }
        co_return failure;
    }

    void say_about_blob(const std::string& key, const std::string& which, const Error& error) const {
        if (error.errnum() == ENOENT)
            say(fmt::format("{}: missing blobref{}", key, which));
        else
            say(fmt::format("{}: error retrieving blobref{}: {}", key, which, error.what()));
    }

    // Repair ----------------------------------------------------------------------------------------------------------

    Task<> repair() {
        auto hash = co_await store::hash_kind(&blobs_.handle());
        DirectStorage storage(blobs_, hash);
        store::EditedTree tree(storage);
        co_await tree.begin(checkpoint_.root);
        for (const auto& key : directories_) {
            auto path = store::path_of_key(key);
            co_await tree.take(&path);
            say_unless_quiet(key + " unlinked due to missing blobref");
        }
        std::set<std::string> jobs;
        for (const auto& value : values_) {
            auto job = parsed_.has("job-aware") ? job_of(value.key) : std::string();
            co_await save(&tree, &value, job.empty());
            if (!job.empty()) jobs.insert(job);
        }
        for (const auto& job : jobs) co_await move(&tree, job);
        checkpoint_.root = co_await tree.finish();
        ++checkpoint_.sequence;
        checkpoint_.timestamp = store::now();
        auto value = checkpoint_.to_json();
        co_await blobs_.put_checkpoint(std::move(value));
    }

    // The directory of the job that a key belongs to; nothing when it belongs to none.
    static std::string job_of(const std::string& key) {
        constexpr std::size_t length = std::string_view("job.0000.0000.0000.0000").size();
        auto id = key.size() > length && key[length] == '.' ? JobId::try_parse(key.substr(0, length)) : std::nullopt;
        return id && id->kvs() == key.substr(0, length) ? id->kvs() : std::string();
    }

    // What is left of a value goes to lost+found, or takes its place when its job will go there.
    Task<> save(store::EditedTree* tree, const Damaged* value, bool elsewhere) {
        auto path = store::path_of_key(value->key);
        co_await tree->take(&path);
        auto object = value->left.empty() ? treeobj::make_val("") : treeobj::make_valref(value->left);
        if (elsewhere) path.insert(path.begin(), lost_and_found);
        co_await replace(tree, &path, std::move(object));
        say_unless_quiet(value->key + " repaired and moved to lost+found");
    }

    Task<> move(store::EditedTree* tree, std::string key) {
        auto path = store::path_of_key(key);
        auto object = co_await tree->take(&path);
        path.insert(path.begin(), lost_and_found);
        co_await replace(tree, &path, std::move(object));
        say_unless_quiet(key + " moved to lost+found");
    }

    // What an earlier repair has left there gives way.
    Task<> replace(store::EditedTree* tree, const store::Path* path, Json object) {
        try {
            co_await tree->take(path);
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
        co_await tree->put(path, std::move(object));
    }

    void tell_of_repairs() const {
        if (!values_.empty()) say_unless_quiet("Updated primary checkpoint to include lost+found");
        if (!values_.empty()) say_unless_quiet(fmt::format("Total repairs: {}", values_.size()));
        if (!directories_.empty()) say_unless_quiet(fmt::format("Total unlinked directories: {}", directories_.size()));
    }

    store::BlobStore blobs_;
    const options::Parsed& parsed_;
    store::Checkpoint checkpoint_;
    std::size_t errors_ = 0;
    std::vector<Damaged> values_;
    std::vector<std::string> directories_; // whose blobs are missing
    store::TreeWalk walk_;
};

int run(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    if (parsed.has("job-aware") && !parsed.has("repair")) throw Error(EINVAL, "--job-aware requires --repair");
    if (parsed.has("rootref") && parsed.has("repair")) throw Error(EINVAL, "--rootref cannot be used with --repair");
    Check check(context.handle(), parsed);
    return context.run(&Check::run, &check);
}

using options::Value;
constexpr options::Option fsck_options[] = {
    {.name = "verbose", .key = 'v', .help = "List keys as they are checked, and each bad blob"},
    {.name = "quiet", .key = 'q', .help = "Say nothing but errors"},
    {.name = "rootref",
     .key = 'r',
     .value = Value::required,
     .argument = "BLOBREF",
     .help = "Check this root, not the newest checkpoint"},
    {.name = "repair", .key = 'R', .help = "Move what is left of values to lost+found, unlink lost directories"},
    {.name = "job-aware", .key = 'j', .help = "Move all of a job that was repaired to lost+found"},
};
static_assert(options::consistent(fsck_options));

} // namespace

extern const options::Command cmd_fsck;
const options::Command cmd_fsck{.name = "fsck",
                                .program = "flux-fsck",
                                .synopsis = "[OPTIONS]",
                                .help = "Check the integrity of the KVS",
                                .options = fsck_options,
                                .run = &run};

} // namespace flux::cmd
