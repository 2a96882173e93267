// rlimit — sets the soft resource limits of option `rlimit` in the shell, from which tasks inherit them.
#include <flux/shell.hpp>

#include <cerrno>
#include <sys/resource.h>

namespace flux::shell {
namespace {

struct Limit {
    std::string_view name;
    __rlimit_resource resource;
};
constexpr Limit limits[] = {
    {"cpu", RLIMIT_CPU},   {"fsize", RLIMIT_FSIZE},   {"data", RLIMIT_DATA},       {"stack", RLIMIT_STACK},
    {"core", RLIMIT_CORE}, {"nofile", RLIMIT_NOFILE}, {"ofile", RLIMIT_NOFILE},    {"as", RLIMIT_AS},
    {"rss", RLIMIT_RSS},   {"nproc", RLIMIT_NPROC},   {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE},
    {"nice", RLIMIT_NICE}, {"rtprio", RLIMIT_RTPRIO}, {"rttime", RLIMIT_RTTIME},   {"sigpending", RLIMIT_SIGPENDING},
};

class Rlimit final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        for (auto [name, value] : shell().option("rlimit").members()) set(name, value);
        co_return;
    }

private:
    void set(std::string_view name, JsonView value) {
        auto wanted = value.try_as<std::int64_t>();
        const Limit* limit = nullptr;
        for (const auto& known : limits)
            if (known.name == name) limit = &known;
        if (!limit || !wanted) {
            std::string text = "invalid shell option rlimit.";
            throw Error(EINVAL, text.append(name) + '=' + value.dump());
        }
        rlimit now;
        if (::getrlimit(limit->resource, &now) < 0) throw Error(errno, std::string(name));
        auto soft = *wanted < 0 ? RLIM_INFINITY : static_cast<rlim_t>(*wanted);
        if (now.rlim_max != RLIM_INFINITY && soft > now.rlim_max) {
            std::string text(name);
            text += ": " + value.dump() + " exceeds the hard limit, using " + std::to_string(now.rlim_max);
            shell().log(Level::warning, "rlimit", text);
            soft = now.rlim_max;
        }
        now.rlim_cur = soft;
        if (::setrlimit(limit->resource, &now) < 0)
            shell().log(Level::warning, "rlimit", std::string(name) + ": " + errno_text(errno));
    }
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Rlimit, "rlimit")
