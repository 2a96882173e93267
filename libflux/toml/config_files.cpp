#include <flux/config_files.hpp>
#include <flux/toml.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fs = std::filesystem;

namespace flux {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(errno ? errno : EIO, fmt::format("Config file error: {}: {}", path, errno_text(errno)));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Json read_config_file(const std::string& path) {
    auto text = read_file(path);
    if (!path.ends_with(".json")) return parse_toml(text, "Config file error: " + path);
    auto value = Json::parse(text, "Config file error: " + path);
    if (!value.is_object()) throw Error(EINVAL, fmt::format("Config file error: {}: not a JSON object", path));
    return value;
}

} // namespace

void merge_config(JsonRef base, JsonView over) {
    for (auto [key, value] : over.members()) {
        if (value.is_object() && base[key].is_object())
            merge_config(base[key], value);
        else
            base.set(key, value.copy());
    }
}

Json read_config(const std::string& path) {
    std::error_code failure;
    if (!fs::exists(path, failure))
        throw Error(ENOENT, fmt::format("Config file error: {}: {}", path, errno_text(ENOENT)));
    if (!fs::is_directory(path)) return read_config_file(path);
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path)) {
        if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    auto config = Json::object();
    for (const auto& file : files) merge_config(config, read_config_file(file));
    return config;
}

Json parse_config_spec(const std::string& spec) {
    if (spec.starts_with("{")) {
        auto value = Json::parse(spec, "Config file error: --conf");
        return value;
    }
    if (spec.find('\n') != std::string::npos) return parse_toml(spec, "Config file error: --conf");
    if (auto equals = spec.find('='); equals != std::string::npos) {
        auto text = spec.substr(equals + 1);
        Json value;
        try {
            value = Json::parse(text);
        } catch (const Error&) {
            value = Json(text); // not JSON: a string
        }
        auto config = Json::object();
        config.set_path(spec.substr(0, equals), std::move(value));
        return config;
    }
    return read_config_file(spec);
}

} // namespace flux
