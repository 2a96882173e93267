#include "committer.hpp"

#include <flux/content_commit.hpp>
#include <flux/content_protocol.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <unistd.h>

namespace flux::kvs_store {
namespace {

namespace protocol = kvs_protocol;

// One content commit: more would make those wait that came first, and hold much memory at once.
constexpr std::size_t batch_bytes = std::size_t(8) << 20;
constexpr std::size_t batch_transactions = 4096;
// How often a full store is tried.
constexpr std::chrono::seconds full_retry(1);

std::size_t size_of(const Operations& operations) {
    std::size_t size = 0;
    for (const auto& operation : operations) {
        size += sizeof(Operation) + operation.key.size() + operation.value.size();
        if (operation.entry) size += operation.entry->data.size();
    }
    return size;
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

Json root_json(const kvs::Root& root) { return Json::object("rootref", root.ref, "rootseq", root.sequence); }

} // namespace

Committer::Committer(Handle& handle, Scope& scope, HashKind hash, Store& store, NamespaceTable& namespaces)
    : handle_(handle), scope_(scope), hasher_(hash), store_(store), namespaces_(namespaces) {}

// Taking requests -------------------------------------------------------------------------------------------------

void Committer::commit(Request request) {
    auto payload = request.json();
    auto name = payload.get<std::string>("namespace");
    auto flags = payload.get<int>("flags");
    auto operations = decode_operations(payload.get<JsonView>("ops"));
    if (!request.credentials().owner()) check_guest(operations);
    auto name_space = namespaces_.find(name);
    if (!name_space) throw Error(ENOTSUP);
    name_space->check_access(request.credentials());
    if (flags & protocol::sync && name != protocol::primary_namespace)
        throw Error(EINVAL, "kvs: only the primary namespace can be synced");
    operation_counts_.add(static_cast<double>(operations.size()));
    auto once = payload["once"];
    Job job(What::commit, std::move(request), std::move(name_space));
    job.bytes = size_of(operations);
    job.operations = std::move(operations);
    job.flags = flags;
    job.name = fmt::format("transaction_req.0.{}", last_name_++);
    if (!once) return enqueue(std::move(job));
    job.once_id = once.get<std::string>("id");
    job.once_seq = once.get<std::int64_t>("seq");
    // A guest's id is no other user's.
    if (!job.request.credentials().owner())
        job.once_id = fmt::format("{}/{}", job.request.credentials().userid, job.once_id);
    begin_once(std::move(job));
}

void Committer::begin_once(Job job) {
    switch (once_.begin(job.request, job.once_id, job.once_seq)) {
    case OnceTable::Verdict::apply: return enqueue(std::move(job));
    case OnceTable::Verdict::answered: return;
    case OnceTable::Verdict::unknown:
        scope_.spawn("look up a writer", &ask_once, this, std::make_shared<Job>(std::move(job)));
    }
}

Task<> Committer::ask_once(Committer* self, std::shared_ptr<Job> job) {
    auto id = job->once_id;
    std::optional<std::int64_t> seq;
    Json result;
    std::optional<Error> failure;
    try {
        auto query = Json::object("id", id);
        auto response = co_await self->handle_.call(content_backing_protocol::once_get.topic, std::move(query));
        seq = response.json().get<std::int64_t>("seq");
        result = response.json()["result"].copy();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        // ENOSYS: without a backing store nobody knows more than this memory.
        if (error.errnum() != ENOENT && error.errnum() != ENOSYS) failure = error;
    }
    try {
        if (failure) throw *failure;
        self->once_.learn(id, seq, std::move(result));
        self->begin_once(std::move(*job));
    } catch (const Error& error) {
        job->request.fail(error);
    }
}

void Committer::create(Request request) {
    auto payload = request.json();
    auto name = payload.get<std::string>("namespace");
    auto owner = static_cast<std::uint32_t>(payload.get<std::int32_t>("owner"));
    auto flags = payload.get<int>("flags");
    auto root = payload.get_optional<std::string>("rootref");
    if (name.empty()) throw Error(EINVAL, "kvs: a namespace needs a name");
    if (namespaces_.find(name)) throw Error(EEXIST, fmt::format("kvs: namespace '{}' exists", name));
    if (owner == userid_unknown) owner = ::getuid();
    auto ref = root ? Blobref::parse(*root) : hasher_(Directory().encode());
    auto name_space = std::make_shared<Namespace>(name, owner, flags, kvs::Root(ref, 0));
    namespaces_.add(name_space);
    enqueue(Job(What::create, std::move(request), std::move(name_space)));
}

void Committer::remove(Request request) {
    auto name = request.json().get<std::string>("namespace");
    if (name == protocol::primary_namespace) throw Error(ENOTSUP, "kvs: the primary namespace cannot be removed");
    auto name_space = namespaces_.find(name);
    if (!name_space) return request.respond();
    Job job(What::remove, std::move(request), std::move(name_space));
    job.flags = protocol::wait_space; // it makes room
    enqueue(std::move(job));
}

void Committer::checkpoint() {
    auto primary = namespaces_.find(std::string(protocol::primary_namespace));
    if (primary->root.sequence == checkpoint_sequence_) return;
    checkpoint_wanted_ = true;
    wake_.notify_all();
}

void Committer::enqueue(Job job) {
    if (full_ && (!(job.flags & protocol::wait_space) || queued_bytes_ + job.bytes > backlog_limit_))
        return refuse(job, Error(ENOSPC, "kvs: the content store is full"));
    queued_bytes_ += job.bytes;
    queue_.push_back(std::move(job));
    if (!full_) wake_.notify_all();
}

std::size_t Committer::waiting(const std::string& name_space) const {
    std::size_t count = 0;
    for (const auto& job : queue_) count += job.name_space->name == name_space;
    return count;
}

// The commit loop -------------------------------------------------------------------------------------------------

Task<> Committer::run() {
    for (;;) {
        while (queue_.empty() && !checkpoint_wanted_) co_await wake_.wait();
        Jobs jobs;
        bool sync = std::exchange(checkpoint_wanted_, false);
        if (!sync) {
            jobs = take();
            sync = jobs.front().flags & protocol::sync;
        }
        Loaded loaded;
        Batch batch(hasher_, store_.source(loaded));
        co_await apply(jobs, batch, loaded);
        batch.seal();
        if (sync) co_await require_backing(jobs);
        co_await write(jobs, batch, sync);
        under_way_ = 0;
        if (full_) co_await sleep_for(full_retry);
    }
}

// What goes into the next commit; what is to be synced goes alone, so that a failure of that concerns only itself.
Committer::Jobs Committer::take() {
    Jobs jobs;
    std::size_t bytes = 0;
    while (!queue_.empty()) {
        auto& next = queue_.front();
        bool sync = next.flags & protocol::sync;
        if (!jobs.empty() && (sync || bytes + next.bytes > batch_bytes || jobs.size() == batch_transactions)) break;
        bytes += next.bytes;
        jobs.push_back(std::move(next));
        queue_.pop_front();
        if (sync) break;
    }
    queued_bytes_ -= bytes;
    under_way_ = jobs.size();
    return jobs;
}

Task<> Committer::apply(Jobs& jobs, Batch& batch, Loaded& loaded) {
    for (;;) {
        std::unordered_set<Blobref> missing;
        for (const auto& job : jobs)
            if (job.what == What::commit && !job.name_space->removed)
                batch.find_missing(job.name_space->name, job.name_space->root, job.operations, missing);
        if (missing.empty()) break;
        co_await store_.load_directories(std::move(missing), &loaded);
    }
    std::set<std::string> removed;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto& job = jobs[i];
        const auto& name = job.name_space->name;
        if (job.what == What::remove) removed.insert(name);
        if (job.what != What::commit) continue;
        if (job.name_space->removed || removed.contains(name)) {
            refuse(job, Error(ENOTSUP));
            continue;
        }
        bool alone = !merge_ || job.flags & (protocol::no_merge | protocol::sync);
        for (bool applied = false; !applied;) {
            std::optional<Blobref> missing;
            try {
                missing = batch.apply(name, job.name_space->root, job.operations, i, alone);
                applied = !missing;
            } catch (const Error& error) {
                refuse(job, error);
                break;
            }
            std::unordered_set<Blobref> refs;
            if (missing) refs.insert(*missing);
            if (missing) co_await store_.load_directories(std::move(refs), &loaded);
        }
    }
}

// The content cache alone takes commits, but has no place for a checkpoint.
Task<> Committer::require_backing(Jobs& jobs) {
    std::optional<Error> failure;
    try {
        co_await handle_.call(content_protocol::checkpoint_get.topic);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        if (error.errnum() != ENOSYS) co_return;
        failure = error;
    }
    if (failure) refuse_all(jobs, *failure);
}

Json Committer::checkpoint_of(const kvs::Root& root) const {
    return Json::object("version", 1, "rootref", root.ref, "sequence", root.sequence, "timestamp", now());
}

Payload Committer::content_commit(const Jobs& jobs, const Batch& batch, bool sync) const {
    std::map<std::string, kvs::Root> roots; // changed or new
    std::set<std::string> removed;
    for (const auto& job : jobs) {
        if (job.what == What::create) roots[job.name_space->name] = job.name_space->root;
        if (job.what == What::remove) removed.insert(job.name_space->name);
    }
    for (const auto& [name, versions] : batch.versions()) roots[name] = versions.back().root;

    auto tail = Json::object("hash", name_of(hasher_.kind()));
    if (sync) tail.set("sync", true);
    auto list = tail.array_at("namespaces");
    auto primary = std::string(protocol::primary_namespace);
    if (sync || roots.contains(primary)) {
        auto changed = roots.find(primary);
        tail.set("checkpoint",
                 checkpoint_of(changed != roots.end() ? changed->second : namespaces_.find(primary)->root));
    }
    for (const auto& job : jobs) {
        auto root = roots.find(job.name_space->name);
        if (root == roots.end() || root->first == primary || removed.contains(root->first)) continue;
        list.append(namespace_json(*job.name_space, root->second));
        roots.erase(root);
    }
    if (!removed.empty()) tail.set("removed", std::vector<std::string>(removed.begin(), removed.end()));
    for (const auto& [name, versions] : batch.versions())
        for (const auto& version : versions)
            for (auto i : version.transactions)
                if (!jobs[i].once_id.empty())
                    tail.array_at("once").append(Json::object("id", jobs[i].once_id, "seq", jobs[i].once_seq,
                                                              "namespace", name, "result", root_json(version.root)));
    ContentCommitWriter writer;
    for (const auto& blob : batch.blobs()) writer.add(blob.ref.digest(), blob.bytes);
    return writer.finish(tail);
}

Task<> Committer::write(Jobs& jobs, Batch& batch, bool sync) {
    auto over = [](const Job& job) { return job.over; };
    if (!jobs.empty() && std::all_of(jobs.begin(), jobs.end(), over)) co_return;
    auto primary = namespaces_.find(std::string(protocol::primary_namespace));
    std::optional<Error> failure;
    try {
        auto payload = content_commit(jobs, batch, sync);
        co_await handle_.call(content_protocol::commit.topic, std::move(payload));
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        failure = error;
    }
    if (failure) {
        refuse_all(jobs, *failure);
        co_return;
    }
    if (full_) handle_.log(LogLevel::notice, "the content store has space again");
    full_ = false;
    publish(jobs, batch);
    if (sync) checkpoint_sequence_ = primary->root.sequence;
}

Task<> Committer::finish() {
    auto primary = namespaces_.find(std::string(protocol::primary_namespace));
    if (!primary || primary->root.sequence == checkpoint_sequence_) co_return;
    Batch batch(hasher_, store_.source());
    auto payload = content_commit({}, batch, true);
    try {
        co_await handle_.call(content_protocol::commit.topic, std::move(payload));
    } catch (const Error& error) {
        if (error.errnum() != ENOSYS) throw; // without a store there is no checkpoint
    }
}

// Answers and events ----------------------------------------------------------------------------------------------

void Committer::publish_event(const Namespace& name_space, std::string_view suffix, Json payload) {
    payload.set("namespace", name_space.name);
    handle_.publish(fmt::format("{}{}{}", protocol::event_prefix, name_space.name, suffix), std::move(payload),
                    flag_private);
}

void Committer::publish(Jobs& jobs, const Batch& batch) {
    batch.for_each_replaced([&](const Blobref& ref) { store_.cache().retire(ref); });
    batch.for_each_directory(
        [&](const Blobref& ref, const DirectoryPtr& directory) { store_.cache().put(ref, directory); });
    for (auto& job : jobs) {
        if (job.what != What::create) continue;
        auto payload = root_json(job.name_space->root);
        payload.set("owner", static_cast<std::int32_t>(job.name_space->owner));
        publish_event(*job.name_space, protocol::created_suffix, std::move(payload));
        job.request.respond();
    }
    for (const auto& [name, versions] : batch.versions())
        for (const auto& version : versions) publish_version(jobs, *namespaces_.find(name), version);
    for (auto& job : jobs) {
        if (job.what != What::remove) continue;
        if (!job.name_space->removed) {
            namespaces_.remove(job.name_space->name);
            publish_event(*job.name_space, protocol::removed_suffix, Json::object());
        }
        job.request.respond();
    }
}

void Committer::publish_version(Jobs& jobs, Namespace& name_space, const Batch::Version& version) {
    name_space.set_root(version.root);
    auto result = root_json(version.root);
    auto payload = result.copy();
    auto names = payload.array_at("names");
    auto keys = payload.object_at("keys");
    for (auto i : version.transactions) {
        names.append(jobs[i].name);
        for (const auto& operation : jobs[i].operations) keys.set(operation.key, nullptr);
    }
    payload.set("owner", static_cast<std::int32_t>(name_space.owner));
    publish_event(name_space, protocol::setroot_suffix, std::move(payload));
    // After the event: who gets the answer finds the version everywhere the event has passed.
    for (auto i : version.transactions) {
        jobs[i].over = true;
        jobs[i].request.respond(result.copy());
        if (!jobs[i].once_id.empty()) once_.finish(jobs[i].once_id, jobs[i].once_seq, result);
    }
}

void Committer::refuse(Job& job, const Error& error) {
    job.over = true;
    job.request.fail(error);
    if (job.what == What::create) namespaces_.remove(job.name_space->name);
    if (job.what != What::commit) return;
    if (!job.once_id.empty()) once_.fail(job.once_id, error);
    auto payload = Json::object("names", Json::array_of(job.name), "errnum", error.errnum());
    publish_event(*job.name_space, protocol::error_suffix, std::move(payload));
}

// A commit to the content store has failed: on a full disk those that want to wait go back to the queue.
void Committer::refuse_all(Jobs& jobs, const Error& error) {
    bool full = error.errnum() == ENOSPC;
    std::size_t waiting = 0;
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
        if (job->over) continue;
        if (!full || !(job->flags & protocol::wait_space)) {
            refuse(*job, error);
            continue;
        }
        ++waiting;
        queued_bytes_ += job->bytes;
        queue_.push_front(std::move(*job));
    }
    if (waiting > 0 && !full_)
        handle_.log(LogLevel::crit, fmt::format("the content store is full: {} commits wait for space", waiting));
    full_ = waiting > 0;
}

} // namespace flux::kvs_store
