// Starts and ends of the instance in the KVS: a start that is followed by another one without an end between them was a
// crash (broker.md 6.6, `flux startlog`).
#include "broker/broker.hpp"

#include <flux/eventlog.hpp>
#include <flux/kvs.hpp>
#include <flux/version.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::broker {
namespace {

constexpr const char* log_key = "admin.eventlog";
constexpr int log_version = 1;

} // namespace

Task<> Broker::log_start() {
    started_ = co_await log_life("start", Json::object("version", log_version, "core_version", version));
}

Task<> Broker::log_finish() {
    if (started_) co_await log_life("finish", Json::object("version", log_version));
}

/// False when there is no KVS that could keep it.
Task<bool> Broker::log_life(const char* event, Json context) {
    EventlogEntry entry(event, std::move(context));
    kvs::Transaction transaction;
    transaction.append(log_key, entry.encode());
    auto options = kvs::CommitOptions().name_space("primary");
    try {
        co_await kvs::commit(*handle_, transaction, options);
        co_return true;
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        if (error.errnum() != ENOSYS)
            log(LogLevel::warning, fmt::format("{}: cannot log {}, ignoring: {}", log_key, event, error.what()));
    }
    co_return false;
}

} // namespace flux::broker
