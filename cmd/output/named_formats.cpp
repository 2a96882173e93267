#include <algorithm>
#include <cerrno>
#include <cmd/output/columns.hpp>
#include <cmd/output/named_formats.hpp>
#include <cstdlib>
#include <filesystem>

namespace flux::output {

namespace {

constexpr std::size_t name_column = 12;
constexpr const char* extensions[] = {".json", ".toml", ".yaml"};

std::string environment(const char* name, const std::string& fallback) {
    const char* value = std::getenv(name);
    return value && *value ? value : fallback;
}

std::string toml_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        if (c == '\n')
            quoted += "\\n";
        else if (c == '\t')
            quoted += "\\t";
        else
            quoted += c;
    }
    return quoted + '"';
}

[[noreturn]] void refuse(const std::string& file, const std::string& why) { throw Error(EINVAL, file + ": " + why); }

/// Check that an object has no keys but these.
void check_keys(JsonView object, const std::string& file, auto allowed) {
    for (const auto& [key, member] : object.members())
        if (!allowed(key)) refuse(file, "invalid key '" + std::string(key) + "'");
}

} // namespace

std::vector<std::string> format_files(std::string_view base) {
    std::vector<std::string> folders;
    const auto site = environment("XDG_CONFIG_DIRS", "/etc/xdg");
    for (std::string_view rest = site; !rest.empty();) {
        const auto folder = rest.substr(0, rest.find(':'));
        if (!folder.empty()) folders.emplace_back(folder);
        rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    }
    std::reverse(folders.begin(), folders.end());
    const auto own = environment("XDG_CONFIG_HOME", environment("HOME", "") + "/.config");
    folders.push_back(own);

    std::vector<std::string> files;
    for (const auto& folder : folders)
        for (const auto* extension : extensions) {
            auto file = folder + "/flux/" + std::string(base) + extension;
            std::error_code ignored; // what cannot be looked at is not there
            if (std::filesystem::is_regular_file(file, ignored)) files.push_back(std::move(file));
        }
    return files;
}

NamedFormats::NamedFormats(const FormatSource& source) : source_(source) {
    for (const auto& [name, description, format] : source_.builtins)
        entries_.push_back({std::string(name), std::string(description), std::string(format)});
}

std::size_t NamedFormats::position(std::string_view name) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
    return static_cast<std::size_t>(found - entries_.begin());
}

const NamedFormats::Entry& NamedFormats::get(std::string_view name) const {
    const auto index = position(name);
    if (index < entries_.size()) return entries_[index];
    const std::string text(name);
    throw Error(EINVAL, "--format: No such format " + text + " (Did you mean '{" + text + "}'?)");
}

void NamedFormats::merge(JsonView content, const std::string& file) {
    if (!content.is_object()) refuse(file, "is no table");
    const auto own_key = source_.table.substr(0, source_.table.find('.'));
    check_keys(content, file, [&](std::string_view key) {
        const auto& others = source_.other_keys;
        return key == own_key || std::find(others.begin(), others.end(), key) != others.end();
    });
    const auto formats = content.find(source_.table);
    if (!formats) return;
    if (!formats.is_object()) refuse(file, std::string(source_.table) + " is no table");

    for (const auto& [name, entry] : formats.members()) {
        const auto where = std::string(source_.table) + "." + std::string(name);
        const auto builtin = std::any_of(source_.builtins.begin(), source_.builtins.end(),
                                         [&, key = name](const NamedFormat& format) { return format.name == key; });
        if (builtin) refuse(file, where + ": a built-in format cannot be changed");
        const auto format = entry["format"].try_as<std::string>();
        if (!format) refuse(file, where + ": required string 'format' is missing");
        const auto description = entry["description"];
        if (description && !description.is_string()) refuse(file, where + ": 'description' is no string");
        check_keys(entry, file, [](std::string_view key) { return key == "format" || key == "description"; });

        const auto index = position(name);
        if (index == entries_.size()) entries_.emplace_back();
        entries_[index] = {std::string(name), description.try_as<std::string>().value_or(""), *format};
    }
}

std::string NamedFormats::choose(std::string_view value) const {
    std::string replacement;
    if (value == "default") {
        replacement = environment(std::string(source_.environment).c_str(), "default");
        value = replacement;
    }
    if (value.find('{') != value.npos) return std::string(value);
    return get(value).format;
}

std::string NamedFormats::help() const {
    auto text = "\nConfigured " + std::string(source_.base) + " output formats:\n\n";
    for (const auto& entry : entries_)
        text += "  " + pad(entry.name, name_column, '<') + ' ' + entry.description + '\n';
    return text;
}

std::string NamedFormats::config_snippet(std::string_view name) const {
    const auto& entry = get(name);
    return '[' + std::string(source_.table) + '.' + entry.name + "]\ndescription = " + toml_string(entry.description) +
           "\nformat = " + toml_string(entry.format) + '\n';
}

} // namespace flux::output
