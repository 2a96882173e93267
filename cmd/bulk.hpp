// Submitting any number of jobs, and following them: what `submit` and `bulksubmit` have in common.
#pragma once

#include "cmd/context.hpp"
#include "cmd/follow/monitors.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/submission/jobspec.hpp"
#include "cmd/submission/substitute.hpp"

#include <cstdio>
#include <map>
#include <optional>
#include <string>

namespace flux::cmd {

class Bulk {
public:
    /// \param parsed  what was typed; outlives this object.
    Bulk(Context& context, const options::Parsed& parsed);
    ~Bulk();

    /// Jobs there will be in all, copies not counted.
    void expect(std::size_t jobs);
    /// Submit a job for each id of `--cc` or `--bcc`, or one without.
    /// \param tags  replaced in its command and options; null: only `{cc}` is, and only in copies.
    Task<> submit(const options::Parsed* parsed, submission::Tags tags);
    /// Wait for what is to be waited for. \returns the exit code
    Task<int> finish();

private:
    void send(const options::Parsed& parsed, const std::string& label, std::optional<std::string_view> cc);
    void on_answer(const Message& answer, const std::string& label, const follow::MonitorOptions& options);
    FILE* open(std::optional<std::string_view> name, FILE* terminal);

    Handle& handle_;
    const options::Parsed& parsed_;
    submission::Surroundings surroundings_;
    std::map<std::string, FILE*> files_; ///< of `--log` and `--log-stderr`, by name
    follow::Monitors monitors_;
    follow::MonitorOptions options_;
    std::optional<Idset> copies_;
    int urgency_;
    int flags_;
    bool follow_;
    std::size_t under_way_ = 0;
    Condition answered_;
    int exit_code_ = 0;
};

/// The progress line that `--progress` or `--jps` ask for, from now on; null, with a warning, unless stdout is a
/// terminal.
std::unique_ptr<follow::Progress> make_progress(Loop& loop, const options::Parsed& parsed, double since);

} // namespace flux::cmd
