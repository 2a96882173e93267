// The tables of `flux dump` and `flux restore`, which are programs of their own, so that `flux` does not load
// libarchive.
#pragma once

#include "cmd/options/table.hpp"

namespace flux::snapshot {

using options::Value;

inline constexpr options::Option dump_options[] = {
    {.name = "verbose", .key = 'v', .help = "List keys on stderr as they are archived"},
    {.name = "quiet", .key = 'q', .help = "Don't show a running count of archived keys on stderr"},
    {.name = "checkpoint", .help = "Dump the newest checkpoint, not the current root"},
    {.name = "no-cache", .help = "Bypass the broker content cache"},
    {.name = "ignore-failed-read", .help = "Skip what cannot be read, and exit with 0"},
    {.name = "sd-notify", .help = "Tell systemd about the progress by way of the broker"},
    {.name = "maxreqs", .value = Value::required, .argument = "N", .help = "Content requests under way (default 2)"},
};
static_assert(options::consistent(dump_options));

inline constexpr options::Option restore_options[] = {
    {.name = "verbose", .key = 'v', .help = "List keys on stderr as they are restored"},
    {.name = "quiet", .key = 'q', .help = "Don't show a running count of restored keys on stderr"},
    {.name = "checkpoint", .help = "Restore to the root of the KVS at its next start"},
    {.name = "key", .value = Value::required, .argument = "KEY", .help = "Restore to a KVS key"},
    {.name = "check", .help = "Only read INFILE and tell what is wrong with it"},
    {.name = "no-cache", .help = "Bypass the broker content cache"},
    {.name = "size-limit", .value = Value::required, .argument = "SIZE", .help = "Skip values that are larger"},
    {.name = "sd-notify", .help = "Tell systemd about the progress by way of the broker"},
    {.name = "maxreqs", .value = Value::required, .argument = "N", .help = "Content requests under way (default 256)"},
};
static_assert(options::consistent(restore_options));

using Run = int (*)(cmd::Context&, const options::Parsed&);

constexpr options::Command dump_command(Run run) {
    return {.name = "dump",
            .program = "flux-dump",
            .synopsis = "[OPTIONS] OUTFILE",
            .help = "Write a KVS snapshot to an archive",
            .options = dump_options,
            .own_program = true,
            .run = run};
}

constexpr options::Command restore_command(Run run) {
    return {.name = "restore",
            .program = "flux-restore",
            .synopsis = "[OPTIONS] INFILE",
            .help = "Read a KVS snapshot from an archive",
            .options = restore_options,
            .own_program = true,
            .run = run};
}

} // namespace flux::snapshot
