// All commands inside `flux`, one file each. The table is sorted; the compiler checks that.
#pragma once

#include "cmd/options/table.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace flux::cmd {

extern const options::Command cmd_R;
extern const options::Command cmd_admin;
extern const options::Command cmd_alloc;
extern const options::Command cmd_archive;
extern const options::Command cmd_batch;
extern const options::Command cmd_broker;
extern const options::Command cmd_bulksubmit;
extern const options::Command cmd_cancel;
extern const options::Command cmd_config;
extern const options::Command cmd_content;
extern const options::Command cmd_dmesg;
extern const options::Command cmd_dump;
extern const options::Command cmd_env;
extern const options::Command cmd_event;
extern const options::Command cmd_exec;
extern const options::Command cmd_fsck;
extern const options::Command cmd_gc;
extern const options::Command cmd_getattr;
extern const options::Command cmd_help;
extern const options::Command cmd_hostlist;
extern const options::Command cmd_job;
extern const options::Command cmd_jobs;
extern const options::Command cmd_jobtap;
extern const options::Command cmd_kvs;
extern const options::Command cmd_logger;
extern const options::Command cmd_lptest;
extern const options::Command cmd_lsattr;
extern const options::Command cmd_modprobe;
extern const options::Command cmd_module;
extern const options::Command cmd_multi_prog;
extern const options::Command cmd_overlay;
extern const options::Command cmd_pgrep;
extern const options::Command cmd_ping;
extern const options::Command cmd_pkill;
extern const options::Command cmd_pmi;
extern const options::Command cmd_post_job_event;
extern const options::Command cmd_pstree;
extern const options::Command cmd_queue;
extern const options::Command cmd_resource;
extern const options::Command cmd_restore;
extern const options::Command cmd_run;
extern const options::Command cmd_setattr;
extern const options::Command cmd_shutdown;
extern const options::Command cmd_sproc;
extern const options::Command cmd_start;
extern const options::Command cmd_startlog;
extern const options::Command cmd_submit;
extern const options::Command cmd_update;
extern const options::Command cmd_uptime;
extern const options::Command cmd_uri;
extern const options::Command cmd_version;
extern const options::Command cmd_watch;

struct Entry {
    std::string_view name;
    const options::Command* command;
};

inline constexpr Entry commands[] = {
    {"R", &cmd_R},
    {"admin", &cmd_admin},
    {"alloc", &cmd_alloc},
    {"archive", &cmd_archive},
    {"batch", &cmd_batch},
    {"broker", &cmd_broker},
    {"bulksubmit", &cmd_bulksubmit},
    {"cancel", &cmd_cancel},
    {"config", &cmd_config},
    {"content", &cmd_content},
    {"dmesg", &cmd_dmesg},
    {"dump", &cmd_dump},
    {"env", &cmd_env},
    {"event", &cmd_event},
    {"exec", &cmd_exec},
    {"fsck", &cmd_fsck},
    {"gc", &cmd_gc},
    {"getattr", &cmd_getattr},
    {"help", &cmd_help},
    {"hostlist", &cmd_hostlist},
    {"job", &cmd_job},
    {"jobs", &cmd_jobs},
    {"jobtap", &cmd_jobtap},
    {"kvs", &cmd_kvs},
    {"logger", &cmd_logger},
    {"lptest", &cmd_lptest},
    {"lsattr", &cmd_lsattr},
    {"modprobe", &cmd_modprobe},
    {"module", &cmd_module},
    {"multi-prog", &cmd_multi_prog},
    {"overlay", &cmd_overlay},
    {"pgrep", &cmd_pgrep},
    {"ping", &cmd_ping},
    {"pkill", &cmd_pkill},
    {"pmi", &cmd_pmi},
    {"post-job-event", &cmd_post_job_event},
    {"pstree", &cmd_pstree},
    {"queue", &cmd_queue},
    {"resource", &cmd_resource},
    {"restore", &cmd_restore},
    {"run", &cmd_run},
    {"setattr", &cmd_setattr},
    {"shutdown", &cmd_shutdown},
    {"sproc", &cmd_sproc},
    {"start", &cmd_start},
    {"startlog", &cmd_startlog},
    {"submit", &cmd_submit},
    {"update", &cmd_update},
    {"uptime", &cmd_uptime},
    {"uri", &cmd_uri},
    {"version", &cmd_version},
    {"watch", &cmd_watch},
};

static_assert(
    [] {
        for (std::size_t i = 1; i < std::size(commands); ++i)
            if (!(commands[i - 1].name < commands[i].name)) return false;
        return true;
    }(),
    "keep the table of commands sorted");

/// The command of this name; null when there is none.
inline const options::Command* find_command(std::string_view name) {
    auto found = std::lower_bound(std::begin(commands), std::end(commands), name,
                                  [](const Entry& entry, std::string_view key) { return entry.name < key; });
    return found != std::end(commands) && found->name == name ? found->command : nullptr;
}

} // namespace flux::cmd
