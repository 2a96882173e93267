// flux kvs: the table of its subcommands (kvs-content.md 7).
#include "cmd/event_options.hpp"
#include "cmd/kvs/commands.hpp"

namespace flux::cmd {
namespace {

using options::Value;

constexpr options::Option namespace_option[] = {
    {.name = "namespace",
     .key = 'N',
     .value = Value::required,
     .argument = "NAME",
     .help = "Specify KVS namespace to use"},
};
constexpr options::Option root_options[] = {
    {.name = "treeobj-root", .key = 'O', .help = "Output resulting RFC 11 root containing operation"},
    {.name = "blobref", .key = 'b', .help = "Output resulting RFC 11 root blobref containing operation"},
    {.name = "sequence", .key = 's', .help = "Output root sequence of root containing operation"},
};
constexpr options::Option at_option[] = {
    {.name = "at",
     .key = 'a',
     .value = Value::required,
     .argument = "TREEOBJ",
     .help = "Lookup relative to RFC 11 snapshot reference"},
};
constexpr options::Option get_only[] = {
    {.name = "raw", .key = 'r', .help = "Interpret value(s) as raw data"},
    {.name = "treeobj", .key = 't', .help = "Show RFC 11 object"},
    {.name = "label", .key = 'l', .help = "Print key= before value"},
    {.name = "waitcreate", .key = 'W', .help = "Wait for creation to occur on watch"},
    {.name = "watch", .key = 'w', .help = "Monitor key writes"},
    {.name = "uniq", .key = 'u', .help = "Only monitor key writes if values have changed"},
    {.name = "append", .key = 'A', .help = "Only monitor key appends"},
    {.name = "full", .key = 'f', .help = "Monitor key changes with more complete accuracy"},
    {.name = "count",
     .key = 'c',
     .value = Value::required,
     .argument = "COUNT",
     .help = "Display at most COUNT changes"},
    {.name = "stream", .key = 'S', .help = "Return potentially large values in multiple responses"},
};
constexpr options::Option put_only[] = {
    {.name = "raw", .key = 'r', .help = "Interpret value(s) as raw data"},
    {.name = "treeobj", .key = 't', .help = "Interpret value(s) as RFC 11 objects"},
    {.name = "no-merge", .key = 'n', .help = "Set the NO_MERGE flag to ensure commit is not merged"},
    {.name = "append", .key = 'A', .help = "Append value(s) to key instead of overwriting"},
    {.name = "sync", .key = 'S', .help = "Flush content and checkpoint after commit"},
};
constexpr options::Option dir_only[] = {
    {.name = "recursive", .key = 'R', .help = "Recursively display keys under subdirectories"},
    {.name = "directory", .key = 'd', .help = "List directory entries and not values"},
    {.name = "width",
     .key = 'w',
     .value = Value::required,
     .argument = "N",
     .help = "Set output width to N. 0 means unlimited"},
};
constexpr options::Option ls_only[] = {
    {.name = "recursive", .key = 'R', .help = "List directory recursively"},
    {.name = "directory", .key = 'd', .help = "List directory instead of contents"},
    {.name = "width",
     .key = 'w',
     .value = Value::required,
     .argument = "N",
     .help = "Set output width to N. 0 means unlimited"},
    {.key = '1', .help = "List one entry per line"},
    {.name = "classify", .key = 'F', .help = "Append indicator (one of .@) to entries"},
};
constexpr options::Option unlink_only[] = {
    {.name = "recursive", .key = 'R', .help = "Remove directory contents recursively"},
    {.name = "force", .key = 'f', .help = "ignore nonexistent files"},
};
constexpr options::Option link_only[] = {
    {.name = "target-namespace",
     .key = 'T',
     .value = Value::required,
     .argument = "NAME",
     .help = "Specify target's namespace"},
};
constexpr options::Option readlink_only[] = {
    {.name = "namespace-only", .key = 'o', .help = "Output only namespace if link points to a namespace"},
    {.name = "key-only", .key = 'k', .help = "Output only key if link points to a namespace"},
};
constexpr options::Option copy_options[] = {
    {.name = "src-namespace",
     .key = 'S',
     .value = Value::required,
     .argument = "NAME",
     .help = "Specify source key's namespace"},
    {.name = "dst-namespace",
     .key = 'D',
     .value = Value::required,
     .argument = "NAME",
     .help = "Specify destination key's namespace"},
};
constexpr options::Option getroot_only[] = {
    {.name = "sequence", .key = 's', .help = "Show sequence number"},
    {.name = "owner", .key = 'o', .help = "Show owner"},
    {.name = "blobref", .key = 'b', .help = "Show blobref"},
};
constexpr options::Option create_options[] = {
    {.name = "owner",
     .key = 'o',
     .value = Value::required,
     .argument = "UID",
     .help = "Specify alternate namespace owner via userid"},
    {.name = "rootref",
     .key = 'r',
     .value = Value::required,
     .argument = "ROOTREF",
     .help = "Initialize namespace with specific root reference"},
};
constexpr options::Option waitcreate_option[] = {
    {.name = "waitcreate", .key = 'W', .help = "Wait for creation of the key"},
};
constexpr options::Option log_get_only[] = {
    {.name = "watch", .key = 'w', .help = "Monitor eventlog"},
    {.name = "count",
     .key = 'c',
     .value = Value::required,
     .argument = "COUNT",
     .help = "Display at most COUNT events"},
    {.name = "stream", .key = 'S', .help = "Return potentially large values in multiple responses"},
};
constexpr options::Option log_format_options[] = {
    {.name = "unformatted", .key = 'u', .help = "Show event in RFC 18 form"},
    {.name = "human", .key = 'H', .help = "Display human-readable output"},
    color_row(),
};
constexpr options::Option append_only[] = {
    {.name = "timestamp",
     .key = 't',
     .value = Value::required,
     .argument = "SECONDS",
     .help = "Specify timestamp in seconds since epoch"},
};
constexpr options::Option log_wait_only[] = {
    {.name = "timeout", .key = 't', .value = Value::required, .argument = "DURATION", .help = "timeout after DURATION"},
    {.name = "quiet", .key = 'q', .help = "Do not output matched event"},
    {.name = "verbose", .key = 'v', .help = "Output all events before matched event"},
};

constexpr auto get_options = options::join(namespace_option, get_only, at_option);
constexpr auto put_options = options::join(namespace_option, root_options, put_only);
constexpr auto dir_options = options::join(namespace_option, dir_only, at_option);
constexpr auto ls_options = options::join(namespace_option, ls_only);
constexpr auto unlink_options = options::join(namespace_option, root_options, unlink_only);
constexpr auto link_options = options::join(namespace_option, root_options, link_only);
constexpr auto readlink_options = options::join(namespace_option, readlink_only, at_option);
constexpr auto mkdir_options = options::join(namespace_option, root_options);
constexpr auto getroot_options = options::join(namespace_option, getroot_only);
constexpr auto log_get_options = options::join(namespace_option, waitcreate_option, log_get_only, log_format_options);
constexpr auto log_append_options = options::join(namespace_option, append_only);
constexpr auto log_wait_options = options::join(namespace_option, waitcreate_option, log_wait_only, log_format_options);
static_assert(options::consistent(get_options) && options::consistent(put_options));
static_assert(options::consistent(dir_options) && options::consistent(ls_options));
static_assert(options::consistent(unlink_options) && options::consistent(readlink_options));
static_assert(options::consistent(log_get_options) && options::consistent(log_wait_options));

constexpr options::Command namespace_commands[] = {
    {.name = "create",
     .synopsis = "[-o owner] name [name...]",
     .help = "Create a KVS namespace",
     .options = create_options,
     .run = &kvs::run_namespace_create},
    {.name = "list", .help = "List namespaces on local rank", .run = &kvs::run_namespace_list},
    {.name = "remove",
     .synopsis = "name [name...]",
     .help = "Remove a KVS namespace",
     .run = &kvs::run_namespace_remove},
};
constexpr options::Command eventlog_commands[] = {
    {.name = "append",
     .synopsis = "[-t SECONDS] key name [context ...]",
     .help = "Append to a KVS eventlog",
     .options = log_append_options,
     .run = &kvs::run_eventlog_append},
    {.name = "get",
     .synopsis = "[-u] [-W] [-w] [-c COUNT] key",
     .help = "Get a KVS eventlog",
     .options = log_get_options,
     .run = &kvs::run_eventlog_get},
    {.name = "wait-event",
     .synopsis = "[-t seconds] [-u] [-W] [-q] [-v] key event",
     .help = "Wait for an event",
     .options = log_wait_options,
     .run = &kvs::run_eventlog_wait_event},
};
constexpr options::Command subcommands[] = {
    {.name = "namespace",
     .synopsis = "COMMAND",
     .help = "Perform KVS namespace operations",
     .subcommands = namespace_commands},
    {.name = "get",
     .synopsis = "[-N ns] [-r|-t] [-a treeobj] [-l] [-W] [-w] [-u] [-A] [-f] [-c COUNT] key [key...]",
     .help = "Get value stored under key",
     .options = get_options,
     .run = &kvs::run_get},
    {.name = "put",
     .synopsis = "[-N ns] [-O|-b|-s] [-r|-t] [-n] [-A] [-S] key=value [key=value...]",
     .help = "Store value under key",
     .options = put_options,
     .run = &kvs::run_put},
    {.name = "dir",
     .synopsis = "[-N ns] [-R] [-d] [-w COLS] [-a treeobj] [key]",
     .help = "Display all keys under directory",
     .options = dir_options,
     .run = &kvs::run_dir},
    {.name = "ls",
     .synopsis = "[-N ns] [-R] [-d] [-F] [-w COLS] [-1] [key...]",
     .help = "List directory",
     .options = ls_options,
     .run = &kvs::run_ls},
    {.name = "unlink",
     .synopsis = "[-N ns] [-O|-b|-s] [-R] [-f] key [key...]",
     .help = "Remove key",
     .options = unlink_options,
     .run = &kvs::run_unlink},
    {.name = "link",
     .synopsis = "[-N ns] [-T ns] [-O|-b|-s] target linkname",
     .help = "Create a new name for target",
     .options = link_options,
     .run = &kvs::run_link},
    {.name = "readlink",
     .synopsis = "[-N ns] [-a treeobj] [-o|-k] key [key...]",
     .help = "Retrieve the key a link refers to",
     .options = readlink_options,
     .run = &kvs::run_readlink},
    {.name = "mkdir",
     .synopsis = "[-N ns] [-O|-b|-s] key [key...]",
     .help = "Create a directory",
     .options = mkdir_options,
     .run = &kvs::run_mkdir},
    {.name = "copy",
     .synopsis = "[-S src-ns] [-D dst-ns] source destination",
     .help = "Copy source key to destination key",
     .options = copy_options,
     .run = &kvs::run_copy},
    {.name = "move",
     .synopsis = "[-S src-ns] [-D dst-ns] source destination",
     .help = "Move source key to destination key",
     .options = copy_options,
     .run = &kvs::run_move},
    {.name = "version",
     .synopsis = "[-N ns]",
     .help = "Display current KVS version",
     .options = namespace_option,
     .run = &kvs::run_version},
    {.name = "wait",
     .synopsis = "[-N ns] version",
     .help = "Block until the KVS reaches version",
     .options = namespace_option,
     .run = &kvs::run_wait},
    {.name = "getroot",
     .synopsis = "[-N ns] [-s|-o|-b]",
     .help = "Get KVS root treeobj",
     .options = getroot_options,
     .run = &kvs::run_getroot},
    {.name = "sync", .help = "Flush content and checkpoint the KVS", .run = &kvs::run_sync},
    {.name = "eventlog", .synopsis = "COMMAND", .help = "Manipulate a KVS eventlog", .subcommands = eventlog_commands},
};

} // namespace

extern const options::Command cmd_kvs;
const options::Command cmd_kvs{.name = "kvs",
                               .program = "flux-kvs",
                               .synopsis = "COMMAND [OPTIONS] ARGS",
                               .help = "Flux key-value store utility",
                               .subcommands = subcommands};

} // namespace flux::cmd
