#include "main_log.hpp"

namespace flux::job_info {

std::string job_key(JobId id, std::string_view name) { return id.kvs() + "." + std::string(name); }

MainLog::MainLog(Handle& handle, JobId id)
    : watch_(handle, job_key(id, "eventlog"),
             kvs::WatchOptions().name_space(kvs_protocol::primary_namespace).append().sentinel()) {}

Task<std::optional<EventlogEntry>> MainLog::next() {
    for (;;) {
        if (auto line = lines_.next()) co_return EventlogEntry::decode(*line);
        auto value = co_await watch_.next();
        if (!value) ended_ = true;
        if (!value || value->sentinel()) co_return std::nullopt;
        lines_.feed(value->bytes());
    }
}

} // namespace flux::job_info
