// What a dump or restore tells while it works: names or a running count on stderr, the count to systemd.
#pragma once

#include "cmd/options/parse.hpp"

#include <flux/handle.hpp>

#include <cstdint>
#include <string>

namespace flux::snapshot {

class Progress {
public:
    /// \param handle  tells systemd; null: nobody does.
    /// \param done    `archived`, `restored`
    Progress(Handle* handle, const options::Parsed& parsed, std::string done);
    /// What is said next begins a line.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// One key more. \param path  its name in the archive.
    void add(const std::string& path);
    /// The last word.
    void finish();
    /// A line about something else. The count goes on below it.
    void say(const std::string& text);

    std::uint64_t keys() const noexcept { return keys_; }
    /// Shown behind the count.
    std::string more;

private:
    void show();
    void end_line();

    Handle* handle_;
    const options::Parsed& parsed_;
    std::string done_;
    bool names_;
    bool counts_;
    bool in_line_ = false;
    std::uint64_t keys_ = 0;
};

} // namespace flux::snapshot
