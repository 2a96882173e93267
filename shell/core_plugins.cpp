#include "core.hpp"
#include "job.hpp"
#include "loader.hpp"

#include <flux/duration.hpp>
#include <flux/paths.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace flux::shell {
namespace {

// Loaded for every job, in this order. Of what is not listed an option of the same name asks for a plugin.
constexpr std::string_view default_plugins[] = {"pmi", "input", "output", "kill", "affinity", "doom"};

// Options that change how tasks run, and that only a plugin which is not part of this shell could obey. Others that
// nobody reads are ignored, as the reference has it.
constexpr std::string_view unsupported_options[] = {"pty", "stage-in", "stop-tasks-in-exec", "coprocess", "sysmon"};

bool is_off(JsonView option) {
    return !option || option.equals(Json(0)) || option.equals(Json(false)) ||
           (option.is_object() && option.size() == 0);
}

// There is no Lua here to run them.
void refuse_script(JsonView option, std::string_view name) {
    if (!option) return;
    auto path = option.try_as<std::string>();
    if (!path) throw Error(EINVAL, std::string(name) + " must be the path of a file, not " + option.dump());
    auto what = "loading rc file " + *path + ": ";
    if (::access(path->c_str(), R_OK) < 0) throw Error(errno, what + errno_text(errno));
    throw Error(ENOTSUP, what + "Lua is not supported, write a shell plugin instead");
}

std::string read_text(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    if (!(text << file.rdbuf())) throw Error(file ? EINVAL : ENOENT, "cannot read " + path);
    return text.str();
}

// From a thread of one's own.
void raise_elsewhere(JobId id, std::string_view note) {
    try {
        Loop loop;
        auto handle = Handle::open(loop);
        auto payload = Json::object("id", id, "type", "exec", "severity", 0, "note", note);
        handle->call("job-manager.raise", std::move(payload), CallOptions().deadline(std::chrono::seconds(5)))
            .then([&loop](const Message&) { loop.stop(); });
        loop.run();
    } catch (const Error&) {
        // The log has it.
    }
}

// Whatever a plugin throws is an Error that names it.
template <class F> auto naming(const std::string& plugin, F&& call) {
    try {
        return call();
    } catch (const Error& error) {
        throw Error(error.errnum(), plugin + ": " + error.what());
    } catch (const std::exception& error) {
        throw Error(EINVAL, plugin + ": " + error.what());
    }
}

} // namespace

void Core::load_plugins() {
    auto path = paths::shell_plugindir();
    if (auto given = attribute("conf.shell_pluginpath"); given && *given != path) path.insert(0, *given + ':');
    std::vector<std::string> wanted;
    if (job_.jobspec.files()) wanted.emplace_back("files");
    wanted.insert(wanted.end(), std::begin(default_plugins), std::end(default_plugins));
    auto required = wanted.size();
    for (auto [name, value] : JsonView(options_).members())
        if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.emplace_back(name);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto file = find_plugin(path, wanted[i]);
        if (!file && i < required) throw Error(ENOENT, "plugin " + wanted[i] + " is not in " + path);
        if (!file) continue;
        log(Level::trace, {}, "loading plugin " + *file);
        bool own = file->starts_with(paths::shell_plugindir() + '/');
        std::optional<InitializerWatch> watch;
        if (!own) watch_initializer(watch, *file);
        const auto& table = load_plugin(*file);
        auto* plugin = naming(table.name, [&] { return table.create(*this); });
        plugins_.push_back(LoadedPlugin{table.name, plugin, own ? std::string() : *file});
    }
}

// Nothing else of a shell gets a turn while a plugin's code blocks it, and nothing has begun yet that could be lost.
void Core::watch_initializer(std::optional<InitializerWatch>& watch, const std::string& file) {
    auto limit = parse_duration(attribute("vendor.module-limit").value_or("30s"));
    watch.emplace("plugin " + file, limit, [this](const std::string& text) {
        log_to_stderr(LogRecord{Level::fatal, {}, text, static_cast<int>(job_.rank)});
        if (!standalone()) raise_elsewhere(job_.id, text);
        ::_exit(1);
    });
}

Task<> Core::init_plugins() {
    for (const auto& loaded : plugins_) {
        auto watch = std::make_shared<std::optional<InitializerWatch>>();
        if (!loaded.file.empty()) {
            watch_initializer(*watch, loaded.file);
            // What waits without blocking may take its time.
            loop_.post([watch] { watch->reset(); });
        }
        co_await call_point(&loaded, &Plugin::init);
        watch->reset();
    }
}

void Core::check_options() {
    refuse_script(option("initrc"), "initrc");
    refuse_script(option("userrc"), "userrc");
    auto loaded = [this](std::string_view name) {
        return std::any_of(plugins_.begin(), plugins_.end(), [&](const auto& entry) { return entry.name == name; });
    };
    for (auto name : unsupported_options) {
        auto value = option(name);
        if (is_off(value) || loaded(name)) continue;
        // A client that wants to be interactive goes on with plain streams when no terminal is offered.
        if (name == "pty" && value["interactive"] && !value["ranks"])
            log(Level::warning, {}, "pty is not supported, using plain streams");
        else
            throw Error(ENOTSUP, "option " + std::string(name) + " is not supported");
    }
    for (std::string_view name : {"xmlfile", "restrict"})
        if (!is_off(option("hwloc")[name]) && !loaded("hwloc"))
            throw Error(ENOTSUP, "option hwloc." + std::string(name) + " is not supported");
}

void Core::apply_taskmap() {
    auto option = this->option("taskmap");
    if (!option) return;
    auto scheme = option.get<std::string>("scheme");
    auto value = option.get_or<std::string>("value", "");
    std::vector<unsigned> counts;
    for (const auto& rank : job_.ranks) counts.push_back(static_cast<unsigned>(rank.taskids.count()));
    Hostlist hosts;
    for (const auto& rank : job_.ranks) hosts.push_back(rank.host);
    if (scheme == "block") {
        if (!value.empty()) throw Error(EINVAL, "block taskmap does not accept a value (got " + value + ")");
    } else if (scheme == "cyclic") {
        auto stride = value.empty() ? 1 : Json::parse(value, "taskmap stride").as<unsigned>();
        if (stride == 0) throw Error(EINVAL, "cyclic taskmap: invalid stride " + value);
        set_taskmap(job_, Taskmap::cyclic(counts, stride));
    } else if (scheme == "manual") {
        set_taskmap(job_, Taskmap::parse(value));
    } else if (scheme == "hostfile") {
        set_taskmap(job_, Taskmap::hostfile(read_text(value), hosts, job_.ntasks));
    } else {
        for (auto& [name, plugin, file] : plugins_) {
            auto map = naming(name, [&] { return plugin->map_tasks(scheme, value); });
            if (!map) continue;
            set_taskmap(job_, std::move(*map));
            return;
        }
        throw Error(EINVAL, "failed to map tasks with scheme=" + scheme);
    }
}

bool Core::each_plugin(const char* what, const std::function<void(Plugin&)>& call) noexcept {
    bool good = true;
    for (auto& [name, plugin, file] : plugins_) {
        try {
            call(*plugin);
        } catch (const std::exception& error) {
            good = false;
            log(Level::error, name, std::string(what) + " failed: " + error.what());
        }
    }
    return good;
}

void Core::each_plugin(void (Plugin::*point)(ShellTask&), ShellTask& task) {
    for (auto& [name, plugin, file] : plugins_) naming(name, [&] { (plugin->*point)(task); });
}

Task<> Core::call_point(const LoadedPlugin* loaded, Task<> (Plugin::*point)()) {
    try {
        co_await (loaded->plugin->*point)();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        throw Error(error.errnum(), loaded->name + ": " + error.what());
    } catch (const std::exception& error) {
        throw Error(EINVAL, loaded->name + ": " + error.what());
    }
}

Task<> Core::each_plugin(Task<> (Plugin::*point)()) {
    for (const auto& loaded : plugins_) co_await call_point(&loaded, point);
}

} // namespace flux::shell
