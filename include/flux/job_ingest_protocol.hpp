// job-ingest, on every rank: takes signed job requests, checks them, gives them an id, stores them and hands them to
// job-manager.
#pragma once

#include <flux/handle.hpp>

namespace flux::job_ingest_protocol {

/// `{J:s, urgency:i, flags:i}` to `{id:i}`, when the job is accepted and durable. `flags` are bits of JobFlag.
/// EINVAL: bad jobspec, urgency or signature, or refused by job-manager; EPERM: not the requester's own; EAGAIN: the
/// store is behind; ENOSYS: going away.
inline constexpr Method submit{"job-ingest.submit", MethodClass::once, role_user};
/// No payload, to `{timestamp:i}`: the id timestamp of now, for the generators of ranks below.
inline constexpr Method getinfo{"job-ingest.getinfo", MethodClass::read};
/// → `{pipeline:{...}}`: see the module.
inline constexpr Method stats_get{"job-ingest.stats-get", MethodClass::read, role_user};
/// The sender is gone: what of its requests was not handed over is forgotten.
inline constexpr Method disconnect{"job-ingest.disconnect", MethodClass::read, role_user};

} // namespace flux::job_ingest_protocol
