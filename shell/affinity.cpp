#include "affinity.hpp"

#include <flux/error.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <sched.h>
#include <string>

namespace flux::shell {
namespace {

// More CPUs than any kernel is built for; its own limit is 8192.
constexpr unsigned max_cpus = 16384;

constexpr unsigned word_bits = 8 * sizeof(unsigned long);
using Mask = std::vector<unsigned long>;

void set_mask(const Mask& mask) {
    auto* raw = reinterpret_cast<const cpu_set_t*>(mask.data());
    if (::sched_setaffinity(0, mask.size() * sizeof(unsigned long), raw) < 0) throw Error(errno, "cannot bind to cpus");
}

std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

} // namespace

void set_thread_affinity(const Idset& cpus) {
    Mask mask(max_cpus / word_bits);
    for (auto cpu : cpus)
        if (cpu < max_cpus) mask[cpu / word_bits] |= 1UL << (cpu % word_bits);
    try {
        set_mask(mask);
    } catch (const Error& error) {
        throw Error(error.errnum(), "cannot bind to cpus " + cpus.encode());
    }
}

BoundThread::BoundThread(const Idset& cpus) : before_(max_cpus / word_bits) {
    auto* raw = reinterpret_cast<cpu_set_t*>(before_.data());
    if (::sched_getaffinity(0, before_.size() * sizeof(unsigned long), raw) < 0)
        throw Error(errno, "sched_getaffinity");
    set_thread_affinity(cpus);
}

BoundThread::~BoundThread() {
    try {
        set_mask(before_);
    } catch (const Error&) {
        // Only when the CPUs were taken from this machine meanwhile: the kernel binds us to others then.
    }
}

std::vector<Idset> read_core_cpus() {
    const std::string directory = "/sys/devices/system/cpu/";
    auto online = Idset::try_parse(read_line(directory + "online"));
    if (!online || online->last() >= max_cpus) return {};
    std::map<std::pair<Idset::Id, Idset::Id>, Idset> cores; // by first CPU of package and core
    for (auto cpu : *online) {
        auto topology = directory + "cpu" + std::to_string(cpu) + "/topology/";
        auto siblings = Idset::try_parse(read_line(topology + "thread_siblings_list"));
        if (!siblings || siblings->first() != cpu) continue;
        auto package = Idset::try_parse(read_line(topology + "core_siblings_list"));
        if (package && package->first()) cores.emplace(std::pair(*package->first(), cpu), std::move(*siblings));
    }
    std::vector<Idset> result;
    for (auto& [place, cpus] : cores) result.push_back(std::move(cpus));
    return result;
}

} // namespace flux::shell
