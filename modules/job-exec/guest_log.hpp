// The part of a job in the KVS that the coordinator keeps: the namespace `job-ID` with exec.eventlog, linked as
// `job.ID.guest` while the job runs, and copied there at its end.
#pragma once

#include "past.hpp"

#include <flux/kvs_writer.hpp>

#include <functional>
#include <string>
#include <vector>

namespace flux::job_exec {

class GuestLog {
public:
    /// \param primary  writes to the primary namespace; shared by all jobs.
    GuestLog(Handle& handle, kvs::Writer& primary, JobId id, std::uint32_t userid);

    /// Make the namespace, with this content, and the link to it. Await the result.
    Call create(const kvs::NamespaceOptions& options = {});
    /// What the job's own eventlog tells.
    Task<Past> job_past();
    /// Make or find the namespace of a job that was begun before, and read what both eventlogs tell.
    Task<Past> recover(bool namespace_exists);
    void append(const std::vector<Orders::Event>& events, std::function<void(const Error*)> done = {});
    /// All events are there: put the namespace away. Events may still be on their way.
    Task<> finish();

private:
    Task<std::string> read(std::string key, std::string name_space);
    void link();

    Handle& handle_;
    kvs::Writer& primary_;
    JobId id_;
    std::uint32_t userid_;
    std::string namespace_;
    kvs::Writer writer_;
    bool exists_ = false;
};

} // namespace flux::job_exec
