// flux gc: drop blobs that no version of the KVS refers to, while the instance runs (kvs-content.md 10.2).
//
// What is stored from the beginning on is never dropped: it belongs to the newest epoch. Of the rest, what can be
// reached is marked; when all marks are made, what has none is swept. It may end at any time between.
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/store/blob_store.hpp"
#include "cmd/store/tree_walk.hpp"

#include <flux/content_protocol.hpp>
#include <flux/kvs.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <unordered_set>

namespace flux::cmd {
namespace {

namespace backing = content_backing_protocol;

constexpr std::size_t default_requests = 2;
constexpr std::size_t hashes_of_mark = 100;
constexpr std::size_t marks_under_way = 8;
// Of one sweep; nothing else is served meanwhile.
constexpr int delete_cap = 1000;
constexpr int sweep_window = 100000;

class Collection {
public:
    Collection(store::BlobStore blobs, unsigned verbosity, std::size_t requests)
        : blobs_(blobs),
          handle_(blobs_.handle()),
          verbosity_(verbosity),
          walk_([this](const Blobref& blob) { return blobs_.load(blob); }, {}, requests) {
        walk_.enter = [this](const Blobref& blob) {
            if (!visited_.insert(blob).second) return false;
            hashes_.push_back(blob);
            return true;
        };
    }

    static Task<int> run(Collection* self) {
        co_await self->begin();
        co_await self->find_roots();
        co_await self->mark();
        co_await self->sweep();
        fmt::print(stderr, "flux: gc complete: marked {}, reclaimed {} blobs (horizon epoch {})\n", self->marked_,
                   self->reclaimed_, self->horizon_);
        co_return 0;
    }

private:
    void say(unsigned level, const std::string& text) const {
        if (verbosity_ >= level) fmt::print(stderr, "flux: gc: {}\n", text);
    }

    Call ask(const Method& method, Json payload) {
        return handle_.call(method.topic, std::move(payload), CallOptions().rank(0));
    }

    Task<> begin() {
        auto payload = Json::object("epoch", 0);
        auto info = co_await ask(backing::gc_info, std::move(payload));
        horizon_ = info.json().get<std::int64_t>("current_epoch");
        high_water_ = info.json().get<std::int64_t>("high_water");
        say(1, fmt::format("horizon epoch {}, {} rows", horizon_, high_water_));
    }

    // The live root comes last: a job that ends meanwhile is in its namespace or in there.
    Task<> find_roots() {
        try {
            store::BlobStore direct(handle_, true);
            auto reply = co_await direct.checkpoints();
            auto value = reply.json().get<JsonView>("value");
            if (!value.is_array()) walk_.add("", store::Checkpoint(value).root);
            for (auto checkpoint : value.elements()) walk_.add("", store::Checkpoint(checkpoint).root);
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
        std::vector<std::string> names;
        try {
            auto reply = co_await handle_.call(kvs_protocol::namespace_list.topic, CallOptions().rank(0));
            for (auto entry : reply.json().get<JsonView>("namespaces").elements())
                names.push_back(entry.get<std::string>("namespace"));
        } catch (const Error& error) {
            if (error.errnum() != ENOSYS) throw;
            co_return;
        }
        std::erase(names, kvs_protocol::primary_namespace);
        names.emplace_back(kvs_protocol::primary_namespace);
        for (const auto& name : names) co_await add_namespace(name);
    }

    Task<> add_namespace(std::string name) {
        try {
            auto payload = Json::object("namespace", name);
            auto reply = co_await ask(kvs_protocol::getroot, std::move(payload));
            walk_.add("", reply.json().get<Blobref>("rootref"));
            say(1, "namespace " + name);
        } catch (const Error& error) {
            if (error.errnum() != ENOENT && error.errnum() != ENOTSUP) throw;
        }
    }

    Task<> mark() {
        store::TreeWalk::Found found;
        while (co_await walk_.next(&found)) {
            if (found.failure) throw found.failure->while_doing(found.key.empty() ? "root directory" : found.key);
            if (found.type == treeobj::Type::valref)
                hashes_.insert(hashes_.end(), found.blobs.begin(), found.blobs.end());
            while (hashes_.size() >= hashes_of_mark) co_await send_marks();
        }
        while (!hashes_.empty()) co_await send_marks();
        while (!marks_.empty()) co_await settle_mark();
        say(1, fmt::format("{} directories, marked {} blobs", visited_.size(), marked_));
    }

    Task<> send_marks() {
        auto hashes = Json::array();
        auto count = std::min(hashes_.size(), hashes_of_mark);
        for (std::size_t i = 0; i < count; ++i) hashes.append(hashes_[i]);
        hashes_.erase(hashes_.begin(), hashes_.begin() + static_cast<std::ptrdiff_t>(count));
        marks_.push_back(ask(backing::mark, Json::object("epoch", horizon_, "hashes", std::move(hashes))));
        while (marks_.size() >= marks_under_way) co_await settle_mark();
    }

    Task<> settle_mark() {
        auto reply = co_await marks_.front();
        marks_.pop_front();
        auto marked = reply.json().get<std::int64_t>("marked");
        marked_ += marked;
        say(2, fmt::format("marked {}", marked));
    }

    Task<> sweep() {
        for (std::int64_t cursor = 0; cursor < high_water_;) {
            auto payload = Json::object("epoch", horizon_, "cursor", cursor, "high_water", high_water_, "delete_cap",
                                        delete_cap, "window", sweep_window);
            auto reply = co_await ask(backing::sweep, std::move(payload));
            auto deleted = reply.json().get<std::int64_t>("deleted");
            cursor = reply.json().get<std::int64_t>("cursor");
            reclaimed_ += deleted;
            say(2, fmt::format("reclaimed {} up to row {}", deleted, cursor));
        }
    }

    store::BlobStore blobs_;
    Handle& handle_;
    unsigned verbosity_;
    std::int64_t horizon_ = 0;
    std::int64_t high_water_ = 0; // rows that are looked at
    std::int64_t marked_ = 0;
    std::int64_t reclaimed_ = 0;
    std::unordered_set<Blobref> visited_; // directories
    std::vector<Blobref> hashes_;         // to be marked
    std::deque<Call> marks_;
    store::TreeWalk walk_;
};

int run(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto requests = parsed.number<long long>("maxreqs", default_requests);
    if (requests <= 0) throw Error(EINVAL, "--maxreqs: must be greater than 0");
    store::BlobStore blobs(context.handle(), parsed.has("no-cache"));
    Collection collection(blobs, parsed.count("verbose"), static_cast<std::size_t>(requests));
    return context.run(&Collection::run, &collection);
}

using options::Value;
constexpr options::Option gc_options[] = {
    {.name = "verbose", .key = 'v', .help = "Tell what is done; twice: each request"},
    {.name = "no-cache", .help = "Bypass the broker content cache"},
    {.name = "maxreqs", .value = Value::required, .argument = "N", .help = "Content requests under way (default 2)"},
};
static_assert(options::consistent(gc_options));

} // namespace

extern const options::Command cmd_gc;
const options::Command cmd_gc{.name = "gc",
                              .program = "flux-gc",
                              .synopsis = "[OPTIONS]",
                              .help = "Drop content that nothing refers to",
                              .options = gc_options,
                              .run = &run};

} // namespace flux::cmd
