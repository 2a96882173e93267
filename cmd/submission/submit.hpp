// Handing a job to the instance.
#pragma once

#include <flux/handle.hpp>

namespace flux::submission {

/// Sign a jobspec and submit it; the answer has its `id`.
Call submit(Handle& handle, JsonView jobspec, int urgency, int flags);

} // namespace flux::submission
