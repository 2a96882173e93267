// The formats of a command that have names: built into it, or from configuration files of the site and the user.
#pragma once

#include <flux/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux::output {

struct NamedFormat {
    std::string_view name;
    std::string_view description;
    std::string_view format;
};

/// Where a command finds its formats.
struct FormatSource {
    std::string_view base;        // file name without extension: `flux-jobs`
    std::string_view table;       // keys of the table in the file, joined by dots: `formats`, `list.formats`
    std::string_view environment; // variable that replaces the format `default`
    std::span<const NamedFormat> builtins;
    /// Further tables of the same file, which belong to other commands, and further keys beside ours.
    std::span<const std::string_view> other_keys{};
};

/// Configuration files that exist for `base`, lowest precedence first: those of XDG_CONFIG_DIRS, last folder first,
/// then of XDG_CONFIG_HOME; in each folder `flux/BASE.json`, `.toml`, `.yaml`.
std::vector<std::string> format_files(std::string_view base);

class NamedFormats {
public:
    explicit NamedFormats(const FormatSource& source);

    /// Take in the content of a configuration file; later files win.
    /// \throws Error EINVAL naming the file: unknown key, entry without format, name of a built-in format.
    void merge(JsonView content, const std::string& file);

    /// The format string that the value of `--format` means: itself when it contains `{`, else the format of that name.
    /// `default` is replaced by the environment.
    /// \throws Error EINVAL `--format: No such format NAME …`
    std::string choose(std::string_view value = "default") const;
    /// What `--format=help` prints.
    std::string help() const;
    /// What `--format=get-config=NAME` prints: the format as TOML.
    std::string config_snippet(std::string_view name) const;

private:
    struct Entry {
        std::string name;
        std::string description;
        std::string format;
    };

    /// Index of an entry; the number of entries when there is none.
    std::size_t position(std::string_view name) const;
    const Entry& get(std::string_view name) const;

    FormatSource source_;
    std::vector<Entry> entries_;
};

} // namespace flux::output
