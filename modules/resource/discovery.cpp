#include "discovery.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace flux::resource {
namespace {

constexpr std::size_t max_cpus = std::size_t{1} << 16;

// A list of cpus in /sys: an idset and a newline.
std::optional<Idset> read_list(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    char text[4096];
    auto size = ::read(fd, text, sizeof text);
    ::close(fd);
    if (size <= 0) return std::nullopt;
    std::string_view list(text, static_cast<std::size_t>(size));
    while (list.ends_with('\n')) list.remove_suffix(1);
    return Idset::try_parse(list);
}

Idset allowed_cpus() {
    // The kernel refuses a mask that is smaller than its own.
    for (std::size_t cpus = 1024; cpus <= max_cpus; cpus *= 2) {
        std::vector<cpu_set_t> mask(cpus / CPU_SETSIZE);
        auto size = mask.size() * sizeof(cpu_set_t);
        if (::sched_getaffinity(0, size, mask.data()) != 0) continue;
        Idset result;
        for (std::size_t cpu = 0; cpu < cpus; ++cpu)
            if (CPU_ISSET_S(cpu, size, mask.data())) result.set(static_cast<Idset::Id>(cpu));
        return result;
    }
    throw Error(errno, "cannot tell which cpus may be used");
}

} // namespace

std::size_t count_cores(const Idset& cpus, const std::function<std::optional<Idset>(Idset::Id cpu)>& siblings) {
    std::size_t cores = 0;
    for (auto rest = cpus; !rest.empty(); ++cores) {
        auto cpu = *rest.first();
        if (auto core = siblings(cpu)) rest -= *core;
        rest.clear(cpu);
    }
    return cores;
}

Children discover(bool restrict) {
    auto cpus = allowed_cpus();
    if (!restrict) cpus = read_list("/sys/devices/system/cpu/online").value_or(cpus);
    auto siblings = [](Idset::Id cpu) {
        return read_list(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    };
    Children result;
    result.set("core", Idset::below(static_cast<Idset::Id>(count_cores(cpus, siblings))));
    return result;
}

} // namespace flux::resource
