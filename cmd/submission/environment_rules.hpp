// The environment of a job: that of its submitter, changed by rules (`--env`, shell.md 7.5).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace flux::submission {

using Environment = std::map<std::string, std::string, std::less<>>;

/// The environment of this process. What is no `NAME=VALUE`, and what is no UTF-8, is left out: a jobspec cannot hold
/// it.
Environment process_environment();

class EnvironmentRules {
public:
    /// Begins with all of `process`, which must outlive this.
    explicit EnvironmentRules(const Environment& process) : process_(process), environment_(process) {}

    /// `-PATTERN` removes, `^FILE` takes rules from a file, `NAME=VALUE` sets, `PATTERN` brings back what the process
    /// has. \throws Error EINVAL for an unknown variable in VALUE or a bad pattern, and the errno of a file.
    void apply(std::string_view rule);
    void remove(std::string_view pattern);
    /// Rules, one a line.
    void apply_file(std::string_view path);

    const Environment& environment() const noexcept { return environment_; }
    /// Variables whose values hold `{{TAGS}}`, which the shell expands.
    const Environment& templates() const noexcept { return templates_; }

private:
    void set(std::string_view name, std::string_view value);
    std::string expand(std::string_view name, std::string_view value) const;
    void bring_back(std::string_view pattern);

    const Environment& process_;
    Environment environment_;
    Environment templates_;
};

} // namespace flux::submission
