// flux resource: the table of its subcommands, and those that change something (cli.md 6.14).
#include "cmd/event_options.hpp"
#include "cmd/resource/commands.hpp"

#include <flux/resource_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

namespace flux::cmd {
namespace {

namespace protocol = resource_protocol;

Task<int> call(Handle* handle, std::string_view topic, Json payload) {
    auto leader = CallOptions().rank(0);
    co_await handle->call(topic, std::move(payload), leader);
    co_return 0;
}

Json targets_of(const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    auto payload = Json::object("targets", words[0]);
    std::string reason;
    for (std::size_t index = 1; index < words.size(); ++index) reason += index > 1 ? " " + words[index] : words[index];
    if (!reason.empty()) payload.set("reason", reason);
    if (parsed.has("force") && parsed.has("update"))
        throw Error(EINVAL, "Only one of --force and --update may be specified");
    return payload;
}

int run_drain(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) return resource::run_drain_list(context, parsed);
    auto payload = targets_of(parsed);
    if (parsed.has("update")) payload.set("mode", "update");
    if (parsed.has("force")) payload.set("mode", parsed.count("force") > 1 ? "force-overwrite" : "overwrite");
    try {
        return context.run(&call, &context.handle(), protocol::drain.topic, std::move(payload));
    } catch (const Error& error) {
        fmt::print(stderr, "{}", parsed.failure_line(fmt::format("[Errno {}] {}", error.errnum(), error.what())));
        if (error.errnum() == EEXIST)
            fmt::print(stderr, "{}", parsed.failure_line("Use --force to overwrite existing drain reason"));
        return options::exit_code::failure;
    }
}

int run_undrain(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error("the following arguments are required: targets");
    auto payload = targets_of(parsed);
    if (parsed.has("force")) payload.set("mode", "force");
    if (parsed.has("update")) payload.set("mode", "update");
    return context.run(&call, &context.handle(), protocol::undrain.topic, std::move(payload));
}

int run_reload(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error("the following arguments are required: path");
    char real[PATH_MAX];
    const auto& path = parsed.operands()[0];
    if (!::realpath(path.c_str(), real)) throw Error(errno, errno_text(errno) + ": '" + path + "'");
    auto payload = Json::object("path", real, "xml", parsed.has("xml"), "force", parsed.has("force"));
    return context.run(&call, &context.handle(), protocol::reload.topic, std::move(payload));
}

int run_acquire_mute(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&call, &context.handle(), protocol::acquire_mute.topic, Json::object());
}

using options::Value;
constexpr options::Option select_options[] = {
    {.name = "include",
     .key = 'i',
     .value = Value::required,
     .argument = "TARGETS",
     .help = "Include only specified targets in output. TARGETS may be provided as an idset or hostlist."},
    {.name = "queue",
     .key = 'q',
     .value = Value::required,
     .argument = "QUEUE,...",
     .help = "Include only specified queues in output."},
};
constexpr options::Option states_option[] = {
    {.name = "states",
     .key = 's',
     .value = Value::required,
     .argument = "STATE,...",
     .help = "Output resources in given states"},
    {.name = "state", .value = Value::required, .argument = "STATE,...", .hidden = true, .same_as = "states"},
};
constexpr options::Option list_only[] = {
    {.name = "skip-empty", .help = "Skip empty lines of output even with --states"},
    {.name = "no-skip-empty", .help = "Do not skip empty lines of output even with --include"},
};
constexpr options::Option status_only[] = {
    {.name = "skip-empty", .help = "Skip empty lines of output even with --states"},
};
constexpr options::Option drain_only[] = {
    {.name = "force",
     .key = 'f',
     .help = "Force overwrite of existing drain reason. Specify twice to also update timestamp."},
    {.name = "update",
     .key = 'u',
     .help = "Update only. Do not return an error if one or more targets are already drained."},
};
constexpr options::Option undrain_options[] = {
    {.name = "force", .key = 'f', .help = "Do not fail if any targets are not drained"},
    {.name = "update", .key = 'u', .help = "Do not fail if any targets are not drained"},
};
constexpr options::Option reload_options[] = {
    {.name = "xml", .key = 'x', .help = "Interpret PATH as a directory of hwloc XML files"},
    {.name = "force", .key = 'f', .help = "Force reload even if resources are invalid"},
};
constexpr options::Option eventlog_only[] = {
    {.name = "follow", .key = 'F', .help = "Display new events as they are posted"},
    {.name = "timeout",
     .key = 't',
     .value = Value::required,
     .argument = "FSD",
     .help = "Timeout in Flux Standard Duration"},
    {.name = "wait",
     .key = 'w',
     .value = Value::required,
     .argument = "EVENT",
     .help = "Wait for event and print all events until then"},
    {.name = "match-context",
     .key = 'm',
     .value = Value::required,
     .argument = "KEY=VAL",
     .help = "With --wait, match KEY=VAL in the event's context"},
    {.name = "count",
     .value = Value::required,
     .argument = "N",
     .help = "With --wait, wait for the Nth match",
     .hidden = true},
    {.name = "include",
     .key = 'i',
     .value = Value::required,
     .argument = "TARGETS",
     .help = "Show only events of these ranks or hosts"},
};
constexpr auto list_options = options::join(format_options, states_option, select_options, list_only);
constexpr auto info_options = options::join(states_option, select_options);
constexpr auto status_options = options::join(format_options, states_option, select_options, color_option, status_only);
constexpr auto drain_options = options::join(format_options, select_options, color_option, drain_only);
constexpr auto eventlog_options = options::join(event_format_options, eventlog_only);
static_assert(options::consistent(list_options) && options::consistent(status_options));
static_assert(options::consistent(drain_options) && options::consistent(eventlog_options));

constexpr options::Command subcommands[] = {
    {.name = "list",
     .synopsis = "[OPTIONS]",
     .help = "list scheduler view of resources",
     .options = list_options,
     .run = &resource::run_list},
    {.name = "info",
     .synopsis = "[OPTIONS]",
     .help = "show brief, single line summary of scheduler view of resources",
     .options = info_options,
     .run = &resource::run_info},
    {.name = "status",
     .synopsis = "[OPTIONS]",
     .help = "show status of resources",
     .options = status_options,
     .run = &resource::run_status},
    {.name = "drain",
     .synopsis = "[OPTIONS] [TARGETS [REASON...]]",
     .help = "drain resources, or list drained ones",
     .options = drain_options,
     .run = &run_drain},
    {.name = "undrain",
     .synopsis = "[OPTIONS] TARGETS [REASON...]",
     .help = "resume drained resources",
     .options = undrain_options,
     .run = &run_undrain},
    {.name = "R",
     .synopsis = "[OPTIONS]",
     .help = "print R of the scheduler's resources",
     .options = info_options,
     .run = &resource::run_R},
    {.name = "eventlog",
     .synopsis = "[OPTIONS]",
     .help = "show the event log of resources",
     .options = eventlog_options,
     .run = &resource::run_eventlog},
    {.name = "reload",
     .synopsis = "[OPTIONS] PATH",
     .help = "reload resource definition from a file",
     .options = reload_options,
     .hidden = true,
     .run = &run_reload},
    {.name = "acquire-mute", .help = "tell the scheduler of no more changes", .hidden = true, .run = &run_acquire_mute},
};

} // namespace

extern const options::Command cmd_resource;
const options::Command cmd_resource{.name = "resource",
                                    .program = "flux-resource",
                                    .synopsis = "COMMAND [OPTIONS]",
                                    .help = "List and manipulate resources",
                                    .subcommands = subcommands,
                                    .family = options::Family::listing};

} // namespace flux::cmd
