// CPU affinity of the calling thread, which the programs it starts inherit.
#pragma once

#include <flux/idset.hpp>

#include <vector>

namespace flux::shell {

/// \param cpus  as the kernel numbers them. \throws Error EINVAL when none of them is there.
void set_thread_affinity(const Idset& cpus);

/// Binds the calling thread while it lives.
class BoundThread {
public:
    /// \throws Error as set_thread_affinity().
    explicit BoundThread(const Idset& cpus);
    ~BoundThread();
    BoundThread(const BoundThread&) = delete;
    BoundThread& operator=(const BoundThread&) = delete;

private:
    std::vector<unsigned long> before_;
};

/// For each core of this host its CPUs, in the order in which hwloc numbers cores on common machines: by package, then
/// by first CPU. Read from sysfs, which is much cheaper than to load hwloc. Empty when the kernel does not tell.
std::vector<Idset> read_core_cpus();

} // namespace flux::shell
