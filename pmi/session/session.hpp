// How a process meets the others that its launcher started (broker.md 7.1): by the wire protocol of PMI-1, by a PMI
// library of the launcher, or not at all. Blocking; used before a loop runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::pmi {

class Session {
public:
    virtual ~Session() = default;

    /// How it was found: `simple`, `libpmi2`, `libpmi` (both with `:PATH` when one was given), `single`.
    std::string method;
    unsigned rank = 0;
    unsigned size = 1;
    /// The launcher's name for the job (kvsname).
    std::string job;

    // Each throws Error naming the PMI function that failed.

    /// Others see it after the next barrier.
    virtual void put(const std::string& key, const std::string& value) = 0;
    /// Nothing when nobody has put the key.
    virtual std::optional<std::string> find(const std::string& key) = 0;
    /// \throws Error ENOENT when nobody has put the key.
    std::string get(const std::string& key);
    /// Wait for all processes of the job.
    virtual void barrier() = 0;
    /// Ask for the end of the whole job. Returns when the request is sent: the caller must exit.
    virtual void abort(int exit_code, const std::string& text) = 0;
    virtual void finalize() = 0;
};

class SessionOptions {
public:
    SessionOptions() {}
    /// In the order in which they are tried; empty: `simple`, `libpmi2`, `libpmi`, `single`.
    std::vector<std::string> methods;
    /// Take no PMI library that is our own.
    bool foreign_library_only = true;
    /// Write each step to stderr.
    bool trace = false;
};

/// Begin a session by the first method that works. Without a choice of methods a library that knows of one process
/// only does not count, and when nothing is left but `single` no launcher may claim more than one task.
/// \throws Error ENOENT with the reason of each method
std::unique_ptr<Session> open_session(const SessionOptions& options);

/// What the environment tells of the number of tasks that a launcher started: `SLURM_NTASKS=4`, with more than one
/// task; nothing when there is no sign of others.
std::optional<std::string> launcher_claim();

} // namespace flux::pmi
