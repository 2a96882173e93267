#include "guest_log.hpp"

#include <flux/eventlog.hpp>
#include <flux/shell_protocol.hpp>

#include <cerrno>

namespace flux::job_exec {

GuestLog::GuestLog(Handle& handle, kvs::Writer& primary, JobId id, std::uint32_t userid)
    : handle_(handle),
      primary_(primary),
      id_(id),
      userid_(userid),
      namespace_(shell_protocol::guest_namespace(id)),
      writer_(handle, kvs::WriterOptions().name_space(namespace_).flags(kvs_protocol::wait_space)) {}

Call GuestLog::create(const kvs::NamespaceOptions& options) {
    exists_ = true;
    auto owned = options;
    auto call = kvs::namespace_create(handle_, namespace_, owned.owner(userid_));
    link();
    return call;
}

void GuestLog::link() {
    kvs::Transaction transaction;
    transaction.symlink(id_.kvs() + ".guest", ".", namespace_);
    primary_.add(std::move(transaction));
}

Task<std::string> GuestLog::read(std::string key, std::string name_space) {
    try {
        auto options = kvs::LookupOptions().name_space(name_space);
        auto value = co_await kvs::lookup(handle_, key, options);
        co_return value.bytes();
    } catch (const Error& error) {
        if (error.errnum() != ENOENT && error.errnum() != ENOTSUP) throw;
    }
    co_return std::string();
}

Task<Past> GuestLog::job_past() {
    Past past;
    auto eventlog = co_await read(id_.kvs() + ".eventlog", std::string(kvs_protocol::primary_namespace));
    auto wall = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    read_job_eventlog(eventlog, wall, std::chrono::steady_clock::now(), past);
    co_return past;
}

Task<Past> GuestLog::recover(bool namespace_exists) {
    auto past = co_await job_past();
    auto primary = std::string(kvs_protocol::primary_namespace);
    std::string eventlog;
    auto key = std::string(shell_protocol::exec_eventlog_key);
    if (namespace_exists) {
        exists_ = true;
        eventlog = co_await read(key, namespace_);
        read_exec_eventlog(eventlog, past);
        link();
        co_return past;
    }
    // Either it was put away, or the job comes out of a dump.
    eventlog = co_await read(id_.kvs() + ".guest." + key, primary);
    read_exec_eventlog(eventlog, past);
    if (past.done) co_return past;
    kvs::NamespaceOptions content;
    if (past.begun) {
        auto guest = id_.kvs() + ".guest";
        auto options = kvs::LookupOptions().name_space(primary).treeobj();
        auto found = co_await kvs::lookup(handle_, guest, options);
        auto blobs = treeobj::blobrefs_of(found.object());
        content.root(blobs.at(0));
    }
    co_await create(content);
    co_return past;
}

void GuestLog::append(const std::vector<Orders::Event>& events, std::function<void(const Error*)> done) {
    if (events.empty() || !exists_) return;
    kvs::Transaction transaction;
    for (const auto& event : events)
        transaction.append(shell_protocol::exec_eventlog_key, EventlogEntry(event.name, event.context.copy()).encode());
    writer_.add(std::move(transaction), std::move(done));
}

Task<> GuestLog::finish() {
    if (!exists_) co_return;
    co_await writer_.drained();
    auto root = co_await kvs::getroot(handle_, namespace_);
    kvs::Transaction transaction;
    auto copy = treeobj::make_dirref(root.ref);
    transaction.put_treeobj(id_.kvs() + ".guest", copy);
    co_await primary_.commit(std::move(transaction));
    auto removal = kvs::namespace_remove(handle_, namespace_);
    std::move(removal).then([](const Message&) {});
}

} // namespace flux::job_exec
