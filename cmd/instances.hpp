// Jobs that are instances, seen from the one that they run in.
#pragma once

#include "cmd/joblist/fields.hpp"

#include <flux/handle.hpp>

#include <memory>

namespace flux::cmd {

/// The instance that a running job is; null when it is none or cannot be reached: it may be ending.
std::unique_ptr<Handle> open_instance(Loop& loop, const joblist::Job& job);

} // namespace flux::cmd
