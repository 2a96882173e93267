// What a scheduler serves (RFC 27): services `sched`, to which job-manager sends what flux/job_manager_protocol.hpp
// describes, and `feasibility`.
#pragma once

#include <flux/job_manager_protocol.hpp>

namespace flux::sched_protocol {

// From job-manager, without matchtag. What is under way when either end starts over is void: hello tells all.
inline constexpr Method alloc{job_manager_protocol::sched_alloc, MethodClass::once};
inline constexpr Method cancel{job_manager_protocol::sched_cancel, MethodClass::once};
inline constexpr Method prioritize{job_manager_protocol::sched_prioritize, MethodClass::once};
inline constexpr Method free{job_manager_protocol::sched_free, MethodClass::once};
/// EINVAL: refused.
inline constexpr Method expiration{job_manager_protocol::sched_expiration, MethodClass::read};
/// No payload, to `{all:R, allocated:R, down:R}` as the scheduler has it.
inline constexpr Method resource_status{"sched.resource-status", MethodClass::read};

} // namespace flux::sched_protocol

namespace flux::feasibility_protocol {

/// `{jobspec:o}`, empty. EINVAL: it is not understood. EOVERFLOW: it can never run here.
inline constexpr Method check{"feasibility.check", MethodClass::read};

} // namespace flux::feasibility_protocol
