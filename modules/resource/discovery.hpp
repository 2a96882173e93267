// What this host has for jobs: found without any library, in well under a millisecond.
#pragma once

#include <flux/resource_set.hpp>

#include <cstddef>
#include <functional>
#include <optional>

namespace flux::resource {

/// Number of cores among `cpus`. `siblings` tells the cpus of the core that a cpu belongs to; nothing: unknown.
std::size_t count_cores(const Idset& cpus, const std::function<std::optional<Idset>(Idset::Id cpu)>& siblings);

/// The cores below this process, numbered from 0.
/// \param restrict  only those that it may run on
Children discover(bool restrict);

} // namespace flux::resource
