// All commands inside `flux`, one file each. The table is sorted; the compiler checks that.
#pragma once

#include "cmd/options/table.hpp"

#include <iterator>
#include <string_view>

namespace flux::cmd {

extern const options::Command cmd_broker;
extern const options::Command cmd_cancel;
extern const options::Command cmd_content;
extern const options::Command cmd_exec;
extern const options::Command cmd_getattr;
extern const options::Command cmd_job;
extern const options::Command cmd_jobs;
extern const options::Command cmd_lsattr;
extern const options::Command cmd_module;
extern const options::Command cmd_ping;
extern const options::Command cmd_queue;
extern const options::Command cmd_run;
extern const options::Command cmd_setattr;
extern const options::Command cmd_sproc;
extern const options::Command cmd_start;
extern const options::Command cmd_submit;

struct Entry {
    std::string_view name;
    const options::Command* command;
};

inline constexpr Entry commands[] = {
    {"broker", &cmd_broker},   {"cancel", &cmd_cancel}, {"content", &cmd_content}, {"exec", &cmd_exec},
    {"getattr", &cmd_getattr}, {"job", &cmd_job},       {"jobs", &cmd_jobs},       {"lsattr", &cmd_lsattr},
    {"module", &cmd_module},   {"ping", &cmd_ping},     {"queue", &cmd_queue},     {"run", &cmd_run},
    {"setattr", &cmd_setattr}, {"sproc", &cmd_sproc},   {"start", &cmd_start},     {"submit", &cmd_submit},
};

static_assert(
    [] {
        for (std::size_t i = 1; i < std::size(commands); ++i)
            if (!(commands[i - 1].name < commands[i].name)) return false;
        return true;
    }(),
    "keep the table of commands sorted");

} // namespace flux::cmd
