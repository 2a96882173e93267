// The tables of `flux archive`, which is a program of its own, so that `flux` does not load OpenSSL.
#pragma once

#include "cmd/options/table.hpp"

namespace flux::archive {

using options::Value;

inline constexpr options::Option name_option[] = {
    {.name = "name",
     .key = 'n',
     .value = Value::required,
     .argument = "NAME",
     .help = "Name of the archive (default main)"},
    {.name = "no-force-primary", .help = "Use the default namespace, not the primary one"},
};
inline constexpr options::Option create_only[] = {
    {.name = "directory", .key = 'C', .value = Value::required, .argument = "DIR", .help = "Change to DIR first"},
    {.name = "verbose", .key = 'v', .value = Value::optional, .argument = "LEVEL", .help = "List paths on stdout"},
    {.name = "overwrite", .help = "Replace an archive of that name"},
    {.name = "append", .help = "Add to an archive of that name"},
    {.name = "preserve", .help = "Keep the content of files in a dump of the KVS too"},
    {.name = "mmap", .help = "Leave the content of files where it is (rank 0 only)"},
    {.name = "chunksize",
     .value = Value::required,
     .argument = "N[KMG]",
     .help = "Size of blobs (default 1M, 0: no limit)",
     .hidden = true},
    {.name = "small-file-threshold",
     .value = Value::required,
     .argument = "N[KMG]",
     .help = "Files up to this size stand in the archive itself (default 1K)",
     .hidden = true},
};
inline constexpr options::Option list_only[] = {
    {.name = "long", .key = 'l', .help = "List types, modes and sizes too"},
    {.name = "raw", .help = "Write the JSON objects of files"},
};
inline constexpr options::Option extract_only[] = {
    {.name = "directory", .key = 'C', .value = Value::required, .argument = "DIR", .help = "Change to DIR first"},
    {.name = "verbose", .key = 'v', .value = Value::optional, .argument = "LEVEL", .help = "List paths on stderr"},
    {.name = "overwrite", .help = "Replace files that are there"},
    {.name = "waitcreate",
     .value = Value::optional,
     .argument = "FSD",
     .help = "Wait until there is the archive, at most this long"},
    {.name = "list-only", .key = 't', .help = "Only list paths"},
};
inline constexpr options::Option remove_only[] = {
    {.name = "force", .key = 'f', .help = "It is fine when there is no such archive"},
};
inline constexpr auto create_options = options::join(name_option, create_only);
inline constexpr auto list_options = options::join(name_option, list_only);
inline constexpr auto extract_options = options::join(name_option, extract_only);
inline constexpr auto remove_options = options::join(name_option, remove_only);
static_assert(options::consistent(create_options) && options::consistent(list_options) &&
              options::consistent(extract_options) && options::consistent(remove_options));

using Run = int (*)(cmd::Context&, const options::Parsed&);

template <Run create, Run list, Run extract, Run remove> inline constexpr options::Command subcommands[] = {
    {.name = "create",
     .synopsis = "[OPTIONS] PATH...",
     .help = "Make an archive of files",
     .options = create_options,
     .run = create},
    {.name = "list",
     .synopsis = "[OPTIONS] [PATTERN]",
     .help = "List what is in an archive",
     .options = list_options,
     .run = list},
    {.name = "extract",
     .synopsis = "[OPTIONS] [PATTERN]",
     .help = "Make files of what is in an archive",
     .options = extract_options,
     .run = extract},
    {.name = "remove", .synopsis = "[OPTIONS]", .help = "Remove an archive", .options = remove_options, .run = remove},
};

template <Run create, Run list, Run extract, Run remove> constexpr options::Command command() {
    return {.name = "archive",
            .program = "flux-archive",
            .synopsis = "COMMAND [OPTIONS]",
            .help = "Share files by way of the KVS",
            .subcommands = subcommands<create, list, extract, remove>,
            .own_program = true};
}

} // namespace flux::archive
