#include "broker/host/modprobe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

namespace flux::broker {
namespace {

/// Progress of one load_all or remove_all, shared by its tasks.
class Progress {
public:
    Progress() {}
    std::set<std::string> done;
    std::string failed; ///< first module that failed
    Error why{EINVAL};
    std::size_t running = 0;
    Condition changed;
};

Task<> load_one(ModuleHost* host, ModuleSpec spec, std::set<std::string> after, std::function<Task<>()> when_loaded,
                std::shared_ptr<Progress> progress) {
    auto ready = [&] {
        return std::all_of(after.begin(), after.end(),
                           [&](const auto& other) { return progress->done.contains(other); });
    };
    try {
        while (progress->failed.empty() && !ready()) co_await progress->changed.wait();
        if (progress->failed.empty() && !host->loaded(spec.name)) co_await host->load(spec);
        if (progress->failed.empty() && when_loaded) co_await when_loaded();
        progress->done.insert(spec.name);
    } catch (const Cancelled&) {
        if (progress->failed.empty()) progress->failed = spec.name;
    } catch (const Error& error) {
        if (progress->failed.empty()) {
            progress->failed = spec.name;
            progress->why = Error(error.errnum(), error.what());
        }
    }
    --progress->running;
    progress->changed.notify_all();
}

} // namespace

Task<> Modprobe::load_all(ModuleHost& host, Scope& scope) {
    auto progress = std::make_shared<Progress>(); // outlives this call when it is aborted
    for (const auto& name : manifest.order()) {
        const auto& entry = *manifest.find(name);
        ModuleSpec spec;
        spec.name = name;
        spec.path = entry.file();
        spec.args = entry.args;
        spec.process = entry.exec;
        const auto& extra = extras[name];
        spec.args.insert(spec.args.end(), extra.args.begin(), extra.args.end());
        ++progress->running;
        scope.spawn("module load", &load_one, &host, std::move(spec), manifest.predecessors(name), extra.when_loaded,
                    progress);
    }
    while (progress->running > 0) co_await progress->changed.wait();
    if (!progress->failed.empty())
        throw Error(progress->why.errnum(), fmt::format("module {}: {}", progress->failed, progress->why.what()));
}

Task<> Modprobe::remove_all(ModuleHost& host, const std::function<void(LogLevel, const std::string&)>& log) {
    // Modules loaded by hand go first, they may use any of ours.
    auto names = host.names();
    std::stable_sort(names.begin(), names.end(), [this](const std::string& a, const std::string& b) {
        auto place = [this](const std::string& name) {
            const auto& order = manifest.order();
            return std::find(order.begin(), order.end(), name) - order.begin();
        };
        return place(a) > place(b);
    });
    for (const auto& name : names) {
        const auto& before_removal = extras[name].before_removal;
        try {
            if (before_removal) co_await before_removal();
            co_await host.remove(name, false, false);
        } catch (const Error& error) {
            if (host.loaded(name)) log(LogLevel::err, fmt::format("module {}: {}", name, error.what()));
        }
    }
}

std::vector<std::string> Modprobe::dependants(const std::string& name, const ModuleHost& host) const {
    auto names = manifest.dependants(name);
    std::erase_if(names, [&](const std::string& other) { return !host.loaded(other); });
    return names;
}

} // namespace flux::broker
