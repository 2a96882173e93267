// flux startlog: when the instance was started and ended (cli.md 6.30).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/output/convert.hpp"
#include "cmd/time/moment.hpp"

#include <flux/duration.hpp>
#include <flux/eventlog.hpp>
#include <flux/kvs.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd {
namespace {

constexpr const char* log_key = "admin.eventlog";

struct Life {
    double start = 0;
    std::optional<double> finish;
    std::string version;
};

std::vector<Life> lives_in(const std::string& log) {
    std::vector<Life> lives;
    for (const auto& event : decode_eventlog(log)) {
        if (event.name == "start")
            lives.push_back({event.timestamp, {}, event.context["core_version"].try_as<std::string>().value_or("")});
        else if (event.name == "finish" && !lives.empty())
            lives.back().finish = event.timestamp;
    }
    return lives;
}

void print(const Life& life, bool is_last, bool show_version) {
    auto minute = [](double time) { return output::local_time(time, "%Y-%m-%d %H:%M"); };
    auto lasted = [&](double until) { return format_duration(until - life.start, 2); };
    std::string end = "crashed";
    if (life.finish)
        end = fmt::format("{} ({})", minute(*life.finish), lasted(*life.finish));
    else if (is_last)
        end = fmt::format("running ({})", lasted(moment::parse("now")));
    if (show_version) fmt::print("{:>25}  ", life.version);
    fmt::print("{} - {}\n", minute(life.start), end);
}

Task<int> startlog(Handle* handle, const options::Parsed* parsed) {
    auto options = kvs::LookupOptions().name_space("primary");
    auto value = co_await kvs::lookup(*handle, log_key, options);
    auto lives = lives_in(value.bytes());
    if (!parsed->has("quiet")) {
        for (const auto& life : lives) print(life, &life == &lives.back(), parsed->has("show-version"));
    }
    bool crashed = lives.size() > 1 && !lives[lives.size() - 2].finish;
    co_return parsed->has("check") && crashed ? 1 : 0;
}

int run(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&startlog, &context.handle(), &parsed);
}

constexpr options::Option startlog_options[] = {
    {.name = "check", .help = "Exit with 1 if the instance crashed before it was started this time"},
    {.name = "quiet", .help = "Print nothing"},
    {.name = "show-version", .key = 'v', .help = "Show the version of Flux that was started"},
};
static_assert(options::consistent(startlog_options));

} // namespace

extern const options::Command cmd_startlog;
const options::Command cmd_startlog{.name = "startlog",
                                    .program = "flux-startlog",
                                    .synopsis = "[OPTIONS...]",
                                    .help = "List when the instance was started and ended",
                                    .options = startlog_options,
                                    .run = &run};

} // namespace flux::cmd
