#include "cmd/driver.hpp"

#include "cmd/commands.hpp"
#include "cmd/context.hpp"

#include <flux/error.hpp>
#include <flux/handle.hpp>
#include <flux/paths.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <getopt.h>
#include <map>
#include <set>
#include <unistd.h>

namespace flux::cmd {
namespace {

constexpr option driver_options[] = {
    {"help", no_argument, nullptr, 'h'},    {"verbose", no_argument, nullptr, 'v'},
    {"version", no_argument, nullptr, 'V'}, {"parent", no_argument, nullptr, 'p'},
    {"root", no_argument, nullptr, 'r'},    {nullptr, 0, nullptr, 0},
};

std::vector<std::string> split(const char* text, char separator) {
    std::vector<std::string> parts;
    std::string_view rest = text ? text : "";
    while (!rest.empty()) {
        auto part = rest.substr(0, rest.find(separator));
        if (!part.empty()) parts.emplace_back(part);
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    }
    return parts;
}

void set_path(const char* name, const char* prepend, const std::string& installed) {
    std::vector<std::string> parts = split(prepend ? std::getenv(prepend) : nullptr, ':');
    if (!installed.empty()) parts.push_back(installed);
    for (auto& part : split(std::getenv(name), ':')) parts.push_back(part);
    std::string value;
    std::set<std::string> seen;
    for (const auto& part : parts) {
        if (!seen.insert(part).second) continue;
        value += value.empty() ? part : ":" + part;
    }
    ::setenv(name, value.c_str(), 1);
}

void go_up(int levels, bool to_root) {
    Loop loop;
    Scope scope(loop);
    for (int level = 0; to_root || level < levels; ++level) {
        auto handle = open_broker(loop);
        auto attribute = [&](const char* name) -> std::optional<std::string> {
            struct Get {
                static Task<int> run(Handle* handle, std::string name, std::string* value) {
                    auto payload = Json::object("name", name);
                    auto reply = co_await handle->call("attr.get", std::move(payload));
                    *value = reply.json().get<std::string>("value");
                    co_return 0;
                }
            };
            std::string value;
            try {
                run_task<int>(scope, &Get::run, handle.get(), std::string(name), &value);
            } catch (const Error& error) {
                if (error.errnum() == ENOENT) return std::nullopt;
                throw;
            }
            return value;
        };
        auto uri = attribute("parent-uri");
        if (!uri) return;
        ::setenv("FLUX_URI", uri->c_str(), 1);
        if (auto name = attribute("parent-kvs-namespace"))
            ::setenv("FLUX_KVS_NAMESPACE", name->c_str(), 1);
        else
            ::unsetenv("FLUX_KVS_NAMESPACE");
    }
}

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            auto above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

std::vector<std::string> search_path() {
    auto folders = split(std::getenv("FLUX_EXEC_PATH"), ':');
    for (auto& folder : split(std::getenv("PATH"), ':')) folders.push_back(folder);
    return folders;
}

} // namespace

void print_usage(FILE* out) {
    fmt::print(out, "Usage: flux [OPTIONS] COMMAND [ARGS...]\n"
                    "  -h, --help             Display this help\n"
                    "  -v, --verbose          Be verbose about environment and command search\n"
                    "  -V, --version          Display command and component versions\n"
                    "  -p, --parent           Run the command against the enclosing instance\n"
                    "  -r, --root             Run the command against the outermost instance\n\n"
                    "Commands:\n");
    for (const auto& entry : commands)
        if (!entry.command->hidden) fmt::print(out, "   {:<18} {}\n", entry.name, entry.command->help);
}

Invocation parse_driver(int argc, char** argv) {
    Invocation result;
    int parents = 0;
    bool root = false;
    optind = 1;
    for (int c; (c = ::getopt_long(argc, argv, "+hvVpr", driver_options, nullptr)) != -1;) {
        switch (c) {
        case 'h':
            print_usage(stderr);
            result.exit_code = 0;
            return result;
        case 'v': result.verbose = true; break;
        case 'V': result.version = true; return result;
        case 'p': ++parents; break;
        case 'r': root = true; break;
        default: result.exit_code = 1; return result;
        }
    }
    if (optind >= argc) {
        print_usage(stderr);
        result.exit_code = 1;
        return result;
    }
    result.command_index = optind;
    if (parents > 0 || root) go_up(parents, root);
    optind = 0; // getopt is used again by the command
    return result;
}

void prepare_environment(const char*) {
    set_path("FLUX_EXEC_PATH", "FLUX_EXEC_PATH_PREPEND", paths::libexecdir() + "/cmd");
    set_path("FLUX_CONNECTOR_PATH", "FLUX_CONNECTOR_PATH_PREPEND", paths::libdir() + "/flux/connectors");
    set_path("FLUX_MODULE_PATH", "FLUX_MODULE_PATH_PREPEND", paths::moduledir());
    // Programs started from here find the same flux.
    auto path = split(std::getenv("PATH"), ':');
    if (std::find(path.begin(), path.end(), paths::bindir()) == path.end()) {
        std::string value = paths::bindir();
        for (const auto& part : path) value += ":" + part;
        ::setenv("PATH", value.c_str(), 1);
    }
}

void print_environment() {
    for (const char* name : {"FLUX_EXEC_PATH", "FLUX_CONNECTOR_PATH", "FLUX_MODULE_PATH", "FLUX_URI", "PATH"})
        if (const char* value = std::getenv(name)) fmt::print("{}={}\n", name, value);
    std::string path;
    for (const auto& folder : search_path()) path += path.empty() ? folder : ":" + folder;
    fmt::print("sub-command search path: {}\n", path);
    std::fflush(stdout);
}

bool is_overridden(const std::string& name) {
    for (const auto& folder : split(std::getenv("FLUX_EXEC_PATH_PREPEND"), ':')) {
        if (::access((folder + "/flux-" + name).c_str(), X_OK) == 0) return true;
    }
    return false;
}

int exec_external(const std::string& name, const std::vector<const char*>& words, bool verbose) {
    std::vector<char*> argv{const_cast<char*>(name.c_str())};
    for (const auto* word : words) argv.push_back(const_cast<char*>(word));
    argv.push_back(nullptr);
    if (name.find('/') != std::string::npos) {
        ::execv(name.c_str(), argv.data());
        throw Error(errno, fmt::format("{}: {}", name, errno_text(errno)));
    }
    for (const auto& folder : search_path()) {
        auto script = folder + "/flux-" + name + ".py";
        if (verbose) fmt::print(stderr, "trying to exec {}\n", folder + "/flux-" + name);
        if (::access(script.c_str(), R_OK | X_OK) == 0) ::execv(script.c_str(), argv.data());
        auto program = folder + "/flux-" + name;
        if (::access(program.c_str(), X_OK) == 0) ::execv(program.c_str(), argv.data());
    }
    return -1;
}

void report_unknown(const std::string& name) {
    fmt::print(stderr, "flux: `{}' is not a flux command.  See 'flux --help'\n", name);
    std::set<std::string> known;
    for (const auto& entry : commands) known.emplace(entry.name);
    for (const auto& folder : search_path()) {
        DIR* directory = ::opendir(folder.c_str());
        if (!directory) continue;
        while (const dirent* entry = ::readdir(directory)) {
            std::string file = entry->d_name;
            if (!file.starts_with("flux-")) continue;
            if (file.ends_with(".py")) file.resize(file.size() - 3);
            known.insert(file.substr(5));
        }
        ::closedir(directory);
    }
    std::multimap<std::size_t, std::string> scored;
    for (const auto& candidate : known) {
        auto score = distance(name, candidate);
        if (candidate.starts_with(name)) score = name.size() >= 5 ? 0 : score - 1;
        if (score <= 3) scored.emplace(score, candidate);
    }
    if (scored.empty()) return;
    auto best = scored.equal_range(scored.begin()->first);
    auto count = std::distance(best.first, best.second);
    fmt::print(stderr, "flux: The most similar command{}\n", count > 1 ? "s are" : " is");
    for (auto at = best.first; at != best.second && count > 0; ++at) fmt::print(stderr, "flux: \t{}\n", at->second);
}

} // namespace flux::cmd
