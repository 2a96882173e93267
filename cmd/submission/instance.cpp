#include "cmd/submission/instance.hpp"

#include <flux/config_files.hpp>
#include <flux/error.hpp>
#include <flux/toml.hpp>

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::submission {
namespace {

constexpr const char* config_name = "conf.json";

std::string environment(const char* name, const std::string& fallback) {
    const char* value = std::getenv(name);
    return value && *value ? value : fallback;
}

/// Where configurations with a name are.
std::vector<std::string> config_folders() {
    std::vector<std::string> folders{environment("XDG_CONFIG_HOME", environment("HOME", "") + "/.config")};
    auto site = environment("XDG_CONFIG_DIRS", "/etc/xdg");
    for (std::string_view rest = site; !rest.empty();) {
        auto folder = rest.substr(0, rest.find(':'));
        if (!folder.empty()) folders.emplace_back(folder);
        rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    }
    return folders;
}

Json named_config(const std::string& name) {
    for (const auto& folder : config_folders())
        for (const char* extension : {".toml", ".json"}) {
            auto path = folder + "/flux/config/" + name + extension;
            if (::access(path.c_str(), R_OK) == 0) return read_config(path);
        }
    throw Error(ENOENT, "--conf: named config '" + name + "' not found");
}

Json config_of(const std::string& text) {
    const bool has_newline = text.find('\n') != text.npos;
    const auto begin = text.find_first_not_of(" \t\n");
    if (has_newline && begin != text.npos && text[begin] == '{') return Json::parse(text, "--conf");
    if (has_newline) return parse_toml(text, "--conf");
    if (text.find('=') != text.npos) return parse_config_spec(text);
    if (text.ends_with(".toml") || text.ends_with(".json")) return read_config(text);
    return named_config(text);
}

SlotResources resources(const options::Parsed& parsed) {
    SlotResources want;
    want.nodes = count(parsed, "nodes");
    want.exclusive = parsed.has("exclusive");
    want.slots = count(parsed, "nslots");
    want.cores_per_slot = count(parsed, "cores-per-slot");
    want.gpus_per_slot = count(parsed, "gpus-per-slot");
    return want;
}

} // namespace

JobspecBuilder make_instance(const options::Parsed& parsed, const std::vector<std::string>& program,
                             const std::vector<std::string>& broker) {
    std::vector<std::string> command{"flux", "broker"};
    for (const auto& option : parsed.list("broker-opts")) command.push_back(option);
    if (parsed.has("dump"))
        command.push_back("-Scontent.dump=" + std::string(parsed.get("dump", "flux-{{jobid}}-dump.tgz")));
    command.insert(command.end(), broker.begin(), broker.end());
    if (parsed.has("conf")) command.push_back(std::string("-c{{tmpdir}}/") + config_name);
    command.insert(command.end(), program.begin(), program.end());

    auto jobspec = JobspecBuilder::for_instance(command, resources(parsed));
    apply_options(jobspec, parsed, Surroundings());
    if (parsed.has("conf")) {
        auto config = Json::object();
        for (auto text : parsed.all("conf")) merge_config(config, config_of(std::string(text)));
        jobspec.add_file(config_name, Json::object("mode", S_IFREG | 0600, "data", std::move(config)));
    }
    return jobspec;
}

} // namespace flux::submission
