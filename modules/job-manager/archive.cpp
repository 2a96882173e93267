#include "archive.hpp"

#include "engine.hpp"

#include <flux/kvs.hpp>

#include <cerrno>
#include <deque>

namespace flux::job_manager {

namespace {

// Look-ups under way at a time: enough to hide their latency, few enough not to fill the KVS's queue.
constexpr std::size_t window = 64;

struct Texts {
    Texts(Handle& handle, JobId id)
        : id(id),
          eventlog(kvs::lookup(handle, job_key(id, "eventlog"))),
          jobspec(kvs::lookup(handle, job_key(id, "jobspec"))),
          R(kvs::lookup(handle, job_key(id, "R"))) {}
    JobId id;
    Reply<kvs::Value> eventlog;
    Reply<kvs::Value> jobspec;
    Reply<kvs::Value> R;
};

// Empty when there is no such key.
Task<std::string> text_of(const Reply<kvs::Value>& reply) {
    try {
        auto value = co_await reply;
        co_return value.bytes();
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
    }
    co_return std::string();
}

Task<std::unique_ptr<Job>> finish(Texts& texts) {
    auto eventlog = co_await text_of(texts.eventlog);
    auto jobspec = co_await text_of(texts.jobspec);
    auto R = co_await text_of(texts.R);
    if (eventlog.empty()) co_return nullptr;
    co_return std::make_unique<Job>(replay(texts.id, eventlog, jobspec, R));
}

} // namespace

Task<std::unique_ptr<Job>> Archive::load(JobId id) {
    Texts texts(handle_, id);
    co_return co_await finish(texts);
}

Task<> Archive::load_each(std::vector<JobId> ids, Visit visit) {
    std::deque<Texts> under_way;
    std::size_t next = 0;
    while (next < ids.size() || !under_way.empty()) {
        while (next < ids.size() && under_way.size() < window) under_way.emplace_back(handle_, ids[next++]);
        std::unique_ptr<Job> job;
        std::optional<Error> failure;
        try {
            job = co_await finish(under_way.front());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure.emplace(error);
        }
        auto id = under_way.front().id;
        under_way.pop_front();
        visit(id, std::move(job), failure ? &*failure : nullptr);
    }
}

// Keys below each of some directories, in their order.
Task<std::vector<std::string>> Archive::list_each(std::vector<std::string> directories) {
    std::vector<std::string> found;
    std::deque<Reply<kvs::Value>> under_way;
    std::size_t next = 0;
    for (std::size_t done = 0; done < directories.size(); ++done) {
        while (next < directories.size() && under_way.size() < window)
            under_way.push_back(kvs::lookup(handle_, directories[next++], kvs::LookupOptions().dir()));
        auto directory = co_await under_way.front();
        under_way.pop_front();
        std::vector<std::string> names;
        for (auto [name, entry] : directory.entries().members()) names.emplace_back(name);
        std::sort(names.begin(), names.end());
        for (auto& name : names) found.push_back(directories[done] + "." + name);
    }
    co_return found;
}

Task<std::vector<JobId>> Archive::all_ids() {
    std::vector<JobId> ids;
    std::vector<std::string> keys(1, "job");
    try {
        for (int level = 0; level < 4; ++level) keys = co_await list_each(std::move(keys));
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
        co_return ids;
    }
    for (auto& key : keys) {
        if (auto id = JobId::try_parse(key)) ids.push_back(*id);
    }
    co_return ids;
}

Task<std::optional<std::vector<JobId>>> Archive::marked_ids() {
    std::vector<JobId> ids;
    std::vector<std::string> keys(1, std::string(active_directory));
    try {
        for (int level = 0; level < 3; ++level) keys = co_await list_each(std::move(keys));
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
        co_return std::nullopt;
    }
    for (auto& key : keys) {
        if (auto id = JobId::try_parse(key.substr(key.rfind('.') + 1))) ids.push_back(*id);
    }
    std::sort(ids.begin(), ids.end());
    co_return ids;
}

Task<Json> Archive::checkpoint() {
    try {
        auto value = co_await kvs::lookup(handle_, checkpoint_key);
        co_return value.json();
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
    }
    co_return Json::object();
}

} // namespace flux::job_manager
