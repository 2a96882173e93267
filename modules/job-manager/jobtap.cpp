#include "jobtap.hpp"

#include "builtins/builtins.hpp"

#include <flux/duration.hpp>
#include <flux/initializer_watch.hpp>
#include <flux/library.hpp>
#include <flux/paths.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fnmatch.h>
#include <map>
#include <memory>
#include <optional>
#include <unistd.h>

namespace flux::job_manager {

namespace {

constexpr LibraryKind jobtap_library{"jobtap plugin", jobtap_table_symbol, sizeof(JobtapTable), jobtap_abi_minor};

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

const Builtin* find_builtin(std::string_view name) noexcept {
    auto all = builtins();
    auto found = std::find_if(all.begin(), all.end(), [&](const Builtin& builtin) { return builtin.name == name; });
    return found == all.end() ? nullptr : &*found;
}

// Where a plugin is that was asked for; a path or a builtin as it is.
std::string locate(const std::string& file) {
    if (find_builtin(file)) return file;
    if (file.starts_with('/') || file.starts_with("./")) return std::filesystem::absolute(file).lexically_normal();
    if (file.empty() || file.find('/') != file.npos) throw Error(EINVAL, fmt::format("'{}' is no plugin name", file));
    auto path = paths::jobtap_plugindir() + '/' + file;
    if (::access(path.c_str(), R_OK) < 0)
        throw Error(ENOENT, fmt::format("{}: plugin not found in {}", file, paths::jobtap_plugindir()));
    return path;
}

Json arguments_of(JsonView conf) {
    if (!conf || conf.is_null()) return Json::object();
    if (!conf.is_object()) throw Error(EPROTO, "conf of a plugin is no object");
    return conf.copy();
}

} // namespace

/// One change at a time.
class Jobtap::Busy {
public:
    explicit Busy(Jobtap& jobtap) : jobtap_(jobtap) { jobtap_.busy_ = true; }
    ~Busy() {
        jobtap_.busy_ = false;
        jobtap_.idle_.notify_all();
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

private:
    Jobtap& jobtap_;
};

Task<> Jobtap::start(JsonView record) {
    core_.plugin_record = PluginRecord::decode(record);
    copies_ = (co_await core_.handle.get_attr("rundir")).value_or("/tmp") + "/so";
    uri_ = (co_await core_.handle.get_attr("local-uri")).value_or("");
    if (auto limit = co_await core_.handle.get_attr("vendor.module-limit")) limit_ = parse_duration(*limit);
    for (auto& builtin : builtins()) {
        auto name = std::string(builtin.name);
        if (!core_.plugin_record.is_removed(name)) co_await load(name, Json::object());
    }
    co_await load_configured();
    co_await load_recorded();
}

Task<> Jobtap::load_configured() {
    auto entries = config_().find("job-manager.plugins");
    if (entries && !entries.is_array()) throw Error(EINVAL, "job-manager.plugins is no array");
    for (auto entry : entries.elements()) {
        auto removal = entry.get_optional<std::string>("remove"), file = entry.get_optional<std::string>("load");
        if (!removal && !file) throw Error(EINVAL, "job-manager.plugins: an entry has neither 'load' nor 'remove'");
        // What is removed or replaced for good does not come back.
        if (removal && !core_.plugin_record.is_removed(*removal)) {
            for (auto& name : matching(*removal)) co_await remove(name);
        }
        auto arguments = arguments_of(entry["conf"]);
        if (file && !core_.plugin_record.is_removed(base_name(*file))) co_await load(*file, std::move(arguments));
    }
}

Task<> Jobtap::load_recorded() {
    std::vector<std::string> failures;
    for (auto& recorded : core_.plugin_record.loads()) {
        if (core_.plugins.contains(recorded.name)) continue; // the configuration has it by now
        try {
            co_await load(recorded.file, recorded.arguments.copy());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failures.push_back(
                fmt::format("cannot load plugin {} again, going on without it: {}", recorded.name, error.what()));
        }
    }
    for (auto& failure : failures) core_.handle.log(LogLevel::err, failure);
}

Task<std::string> Jobtap::load(std::string file, Json arguments) {
    auto name = base_name(file);
    if (core_.plugins.contains(name)) throw Error(EEXIST, fmt::format("{} already loaded", name));
    file = locate(file);
    auto path = find_builtin(file) ? "builtin" : file;
    auto hosted = std::make_unique<HostedPlugin>(core_, inactive_, name, path, std::move(arguments), config_);
    auto& prepared = *hosted;
    core_.plugins.prepare(std::move(hosted));
    std::optional<Error> failure;
    try {
        bring_up(prepared);
        co_await introduce(&prepared);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        failure = error;
    }
    if (!failure) co_return file;
    co_await core_.plugins.drop(prepared);
    // Errors of the library loader name the file already.
    std::string text = failure->what();
    if (!text.starts_with(file)) text = fmt::format("{}: {}", file, text);
    throw Error(failure->errnum(), text);
}

void Jobtap::bring_up(HostedPlugin& hosted) {
    if (auto* builtin = find_builtin(hosted.name); builtin && hosted.path == "builtin")
        hosted.make(builtin->make);
    else
        make_watched(hosted);
    hosted.call([this](JobtapPlugin& plugin) { plugin.conf_update(config_()); });
}

// A thread that is stuck in a plugin's code cannot be freed, only be left behind by a new copy of this module.
void Jobtap::make_watched(HostedPlugin& hosted) {
    auto start_over = [uri = uri_](const std::string& text) {
        try {
            Loop loop;
            auto handle = Handle::open(loop, uri);
            handle->set_log_name("job-manager");
            handle->log(LogLevel::err, text + ", job-manager is started anew without it");
            handle->notify("module.reload", Json::object("name", "job-manager"));
            handle->flush();
        } catch (const Error&) {
            // The broker is gone, and this process soon will be.
        }
    };
    InitializerWatch watch(fmt::format("jobtap plugin {}", hosted.path), limit_, start_over);
    hosted.make(Library::open(hosted.path, copies_, jobtap_library));
}

// Admit a plugin, after a look at the jobs that are over and that it will ask for.
Task<> Jobtap::introduce(Plugins::Loaded* loaded) {
    std::vector<JobId> references;
    for (auto& [id, job] : core_.jobs.all()) {
        if (job->state != JobState::depend) continue;
        auto view = view_of(*job);
        loaded->call([&](JobtapPlugin& plugin) { plugin.job_references(view, references); });
    }
    std::map<JobId, std::unique_ptr<Job>> over;
    Archive::Visit keep = [&](JobId id, std::unique_ptr<Job> job, const Error*) {
        if (job && !job->active()) over[id] = std::move(job);
    };
    if (!references.empty()) co_await core_.archive.load_each(std::move(references), keep);
    std::vector<JobId> added;
    for (auto& [id, job] : over) {
        if (core_.references.try_emplace(id, std::move(job)).second) added.push_back(id);
    }
    core_.plugins.admit(*loaded);
    core_.engine.introduce(*loaded);
    for (auto id : added) core_.references.erase(id);
}

std::vector<std::string> Jobtap::matching(const std::string& pattern) const {
    auto glob = pattern == "all" ? "*" : pattern.c_str();
    auto names = core_.plugins.names();
    std::erase_if(names, [&](const std::string& name) { return ::fnmatch(glob, name.c_str(), FNM_PERIOD) != 0; });
    if (names.empty() && pattern != "all") throw Error(ENOENT, "Failed to find plugin to remove");
    return names;
}

Task<> Jobtap::remove(std::string name) {
    auto& loaded = core_.plugins.get(name);
    co_await core_.plugins.drop(loaded);
    for (auto& [id, job] : core_.jobs.all()) core_.engine.reprioritize(*job);
}

Task<> Jobtap::change(Request request) {
    auto payload = request.json();
    if (payload.get_or("query_only", false)) {
        request.respond(Json::object("plugins", Json(core_.plugins.names())));
        co_return;
    }
    auto removal = payload.get_optional<std::string>("remove"), file = payload.get_optional<std::string>("load");
    auto arguments = arguments_of(payload["conf"]);
    if (!removal && !file) throw Error(EPROTO, "neither a plugin to load nor one to remove");
    while (busy_) co_await idle_.wait();
    Busy busy(*this);
    if (removal) {
        for (auto& name : matching(*removal)) {
            co_await remove(name);
            core_.plugin_record.removed(name);
            core_.save_checkpoint();
        }
    }
    if (file) {
        auto kept = arguments.copy();
        auto found = co_await load(*file, std::move(kept));
        core_.plugin_record.loaded(base_name(found), found, arguments);
        core_.save_checkpoint();
    }
    core_.ledger.then([request] { request.respond(); });
}

void Jobtap::query(Request request) {
    auto name = request.json().get<std::string>("name");
    auto& loaded = core_.plugins.get(name);
    auto answer = Json::object("name", loaded.name, "path", loaded.path);
    loaded.call([&](JobtapPlugin& plugin) { answer.update(plugin.query()); });
    request.respond(std::move(answer));
}

} // namespace flux::job_manager
