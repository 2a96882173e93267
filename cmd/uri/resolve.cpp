#include "cmd/uri/resolve.hpp"

#include "cmd/follow/event_watch.hpp"

#include <flux/job_id.hpp>
#include <flux/job_state.hpp>
#include <flux/parse_integer.hpp>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits.h>
#include <unistd.h>

namespace flux::uri {
namespace {

constexpr std::string_view local_prefix = "local://", remote_prefix = "ssh://";

std::string host_name() {
    char name[HOST_NAME_MAX + 1] = "";
    ::gethostname(name, sizeof name - 1);
    return name;
}

bool wants_local() { return std::getenv("FLUX_URI_RESOLVE_LOCAL") != nullptr; }

// jobid ---------------------------------------------------------------------------------------------------------

Task<std::string> wait_for_uri(Handle* handle, JobId id, std::string name) {
    follow::EventWatch watch(*handle, id, follow::main_log);
    while (auto item = co_await watch.next()) {
        const auto& event = item->event();
        if (event.name == "memo" && event.context["uri"]) co_return event.context.get<std::string>("uri");
        if (event.name == "finish") break;
    }
    throw Error(ENOENT, "URI not found for job " + name);
}

Task<std::string> uri_of_job(Handle* handle, std::string name, bool wait) {
    auto id = JobId::try_parse(name);
    if (!id) throw Error(EINVAL, name + " is not a valid Flux jobid");
    std::string uri;
    bool running = false;
    try {
        auto payload = Json::object("id", *id, "attrs", Json::array_of("state", "annotations"));
        auto answer = co_await handle->call("job-list.list-id", std::move(payload));
        auto job = answer.json()["job"];
        running = job.get<int>("state") == static_cast<int>(JobState::run);
        uri = job.find("annotations.user.uri").try_as<std::string>().value_or("");
    } catch (const Error& error) {
        if (error.errnum() == ENOENT) throw Error(ENOENT, "jobid " + name + " not found");
        throw;
    }
    if (wait && uri.empty()) co_return co_await wait_for_uri(handle, *id, name);
    if (!running) throw Error(EINVAL, "jobid " + name + " is not running");
    if (uri.empty()) throw Error(ENOENT, "URI not found for job " + name);
    co_return std::move(uri);
}

Task<int> find_job(Handle* handle, std::string name, bool wait, std::string* uri) {
    *uri = co_await uri_of_job(handle, name, wait);
    co_return 0;
}

Task<int> find_attribute(Handle* handle, const char* name, std::string* value) {
    auto found = co_await handle->get_attr(name);
    *value = found.value_or("");
    co_return 0;
}

std::string attribute(cmd::Context& context, Handle& handle, const char* name) {
    std::string value;
    context.run(&find_attribute, &handle, name, &value);
    return value;
}

/// The instances on the way stay open only as long as they are asked.
class Walk {
public:
    explicit Walk(cmd::Context& context) : context_(context) {
        const char* uri = std::getenv("FLUX_URI");
        uri_ = uri ? uri : attribute(context, context.handle(), "local-uri");
    }

    void to_root() {
        while (!parent().empty()) uri_ = parent();
    }
    void to_parent() {
        if (auto uri = parent(); !uri.empty()) uri_ = uri;
    }
    void to_job(const std::string& name, bool wait) {
        std::string found;
        context_.run(&find_job, &here(), name, wait, &found);
        uri_ = found;
    }
    const std::string& uri() const noexcept { return uri_; }

private:
    Handle& here() {
        if (handle_uri_ != uri_) {
            handle_ = Handle::open(context_.loop(), reachable(uri_));
            handle_uri_ = uri_;
        }
        return *handle_;
    }
    std::string parent() { return attribute(context_, here(), "parent-uri"); }

    cmd::Context& context_;
    std::string uri_;
    std::string handle_uri_;
    std::unique_ptr<Handle> handle_;
};

std::string resolve_jobid(cmd::Context& context, std::string_view path, bool wait) {
    Walk walk(context);
    if (path.starts_with('/')) walk.to_root();
    while (!path.empty()) {
        auto step = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(step.size() + 1, path.size()));
        if (step.empty() || step == ".") continue;
        if (step == "..")
            walk.to_parent();
        else
            walk.to_job(std::string(step), wait);
    }
    return walk.uri();
}

// pid -----------------------------------------------------------------------------------------------------------

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Error(errno, path + ": " + errno_text(errno));
    return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string environment_of(int pid) {
    auto text = read_file("/proc/" + std::to_string(pid) + "/environ");
    constexpr std::string_view name = "FLUX_URI=";
    for (std::string_view rest = text; !rest.empty();) {
        auto entry = rest.substr(0, rest.find('\0'));
        if (entry.starts_with(name)) return std::string(entry.substr(name.size()));
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    }
    return {};
}

std::string resolve_pid(std::string_view text) {
    auto pid = parse_integer<int>(text);
    if (!pid) throw Error(EINVAL, "'" + std::string(text) + "' is no process id");
    auto folder = "/proc/" + std::to_string(*pid);
    auto name = read_file(folder + "/comm");
    std::string uri;
    if (name.starts_with("flux-broker")) {
        // The broker's own URI is in the environment of what it starts.
        auto children = read_file(folder + "/task/" + std::to_string(*pid) + "/children");
        if (auto child = parse_integer<int>(std::string_view(children).substr(0, children.find(' '))))
            uri = environment_of(*child);
    } else {
        uri = environment_of(*pid);
    }
    if (uri.empty()) throw Error(ENOENT, "process " + std::string(text) + " has no FLUX_URI");
    return uri;
}

} // namespace

std::string to_local(const std::string& uri) {
    if (!uri.starts_with(remote_prefix)) return uri;
    auto slash = uri.find('/', remote_prefix.size());
    return slash == std::string::npos ? uri : std::string(local_prefix) + uri.substr(slash);
}

std::string reachable(const std::string& uri) {
    const bool on_this_host = uri.starts_with(std::string(remote_prefix) + host_name() + "/");
    return on_this_host || wants_local() ? to_local(uri) : uri;
}

std::string to_remote(const std::string& uri) {
    if (!uri.starts_with(local_prefix)) return uri;
    return std::string(remote_prefix) + host_name() + uri.substr(local_prefix.size());
}

std::string resolve(cmd::Context& context, const std::string& target, bool wait) {
    std::string_view rest = target;
    bool local = wants_local(), remote = false;
    if (auto query = rest.find('?'); query != rest.npos) {
        auto word = rest.substr(query + 1);
        local = local || word == "local";
        remote = word == "remote";
        wait = wait || word == "wait";
        rest = rest.substr(0, query);
    }
    auto colon = rest.find(':');
    auto scheme = colon == rest.npos ? std::string_view("jobid") : rest.substr(0, colon);
    auto path = colon == rest.npos ? rest : rest.substr(colon + 1);
    std::string uri;
    if (scheme == "jobid")
        uri = resolve_jobid(context, path, wait);
    else if (scheme == "pid")
        uri = resolve_pid(path);
    else if (scheme == "local" || scheme == "ssh")
        uri = rest;
    else
        throw Error(EINVAL, "No plugin for URI scheme " + std::string(scheme));
    if (local) return to_local(uri);
    return remote ? to_remote(uri) : uri;
}

} // namespace flux::uri
