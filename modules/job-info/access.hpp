// Who may read what of a job: its owner and the instance owner.
#pragma once

#include <flux/handle.hpp>
#include <flux/job_id.hpp>

#include <cstdint>
#include <unordered_map>

namespace flux::job_info {

class Access {
public:
    explicit Access(Handle& handle) : handle_(handle) {}

    /// \throws Error ENOENT when there is no such job, EPERM when it is somebody else's
    Task<> check(Credentials credentials, JobId id);
    /// The same when the owner is known. \throws Error EPERM
    void check_owner(Credentials credentials, JobId id, std::uint32_t owner);

private:
    Handle& handle_;
    std::unordered_map<JobId, std::uint32_t> owners_; // of jobs seen lately
};

} // namespace flux::job_info
