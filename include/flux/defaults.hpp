// Answers that every service gives in the same words: ping, rusage (broker.md 4.3).
#pragma once

#include <flux/handle.hpp>

namespace flux {

/// The request's payload with `route`, `userid`, `rolemask`, `rank` added. \throws Error EPROTO without a JSON payload.
Json answer_ping(const Request& request, std::uint32_t rank);
/// Resource usage of `{who?: self|children|thread}`. \throws Error EINVAL for another.
Json answer_rusage(JsonView payload);

} // namespace flux
