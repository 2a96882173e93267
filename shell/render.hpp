// Templates (shell.md 4.4): {{TAG}} in arguments, paths and variables. Pure.
#pragma once

#include <flux/shell.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace flux::shell {

class Renderer {
public:
    /// Value of a tag that is none of the job's own; nothing leaves the tag as it is.
    using Unknown = std::function<std::optional<std::string>(std::string_view tag)>;
    using Complain = std::function<void(const std::string& text)>;

    Renderer(const JobInfo& job, Unknown unknown, Complain complain)
        : job_(job), unknown_(std::move(unknown)), complain_(std::move(complain)) {}

    /// \param rank  what `node` tags mean; at or above the job's size they are left as they are.
    /// \param task  what `task` tags mean; none: they are left.
    std::string render(std::string_view text, unsigned rank, const ShellTask* task) const;
    /// Whether the text differs between shells, or between the shell and `task`.
    bool varies(std::string_view text, const ShellTask* task) const;

private:
    std::optional<std::string> value(std::string_view tag, unsigned rank, const ShellTask* task) const;
    std::optional<std::string> id(std::string_view tag, std::string_view form) const;
    std::optional<std::string> node(std::string_view name, unsigned rank) const;

    const JobInfo& job_;
    Unknown unknown_;
    Complain complain_;
};

/// The resources of a shell as plugins and templates see them: `{ncores, cores, gpus}`.
Json resources_json(const RankInfo& rank);

} // namespace flux::shell
