// flux run: submit one job and attach to it (cli.md 6.2).
#include "cmd/launch.hpp"
#include "cmd/submission/jobspec.hpp"
#include "cmd/submission/options.hpp"

#include <fmt/core.h>

namespace flux::cmd {
namespace {

int run(Context& context, const options::Parsed& parsed) {
    Launch launch(submission::make_jobspec(parsed, submission::Surroundings()), parsed);
    if (parsed.has("dry-run")) {
        fmt::print("{}\n", launch.jobspec.dump());
        return 0;
    }
    launch.attach.stdin_ranks = submission::input_ranks(parsed);
    launch.attach.wait_event = parsed.get("wait-event", launch.attach.wait_event);
    return context.run(&submit_and_attach, &context, &launch);
}

constexpr options::Option own_options[] = {
    {.name = "wait-event",
     .value = options::Value::required,
     .argument = "NAME",
     .help = "Stop following the job at event NAME"},
};
constexpr auto run_options = options::join(submission::common_options, submission::task_options, own_options);
static_assert(options::consistent(run_options));

} // namespace

extern const options::Command cmd_run;
const options::Command cmd_run{.name = "run",
                               .program = "flux-run",
                               .synopsis = "[OPTIONS...] COMMAND [ARGS...]",
                               .help = "Run a job and watch it to its end",
                               .options = run_options,
                               .family = options::Family::submission,
                               .run = &run};

} // namespace flux::cmd
