// flux run: submit one job and attach to it (cli.md 6.2).
#include "cmd/context.hpp"
#include "cmd/follow/attach.hpp"
#include "cmd/submission/jobspec.hpp"
#include "cmd/submission/options.hpp"
#include "cmd/submission/submit.hpp"

#include <fmt/core.h>

namespace flux::cmd {
namespace {

class Plan {
public:
    Plan() {}
    Json jobspec;
    int urgency = 0;
    int flags = 0;
    bool announce = false;
    follow::AttachOptions attach;
};

Task<int> submit_and_attach(Context* context, Plan* plan) {
    auto answer = co_await submission::submit(context->handle(), plan->jobspec, plan->urgency, plan->flags);
    auto id = answer.json().get<JobId>("id");
    if (plan->announce) fmt::print(stderr, "jobid: {}\n", id.f58());
    co_return co_await follow::attach(context, id, plan->attach);
}

int run(Context& context, const options::Parsed& parsed) {
    Plan plan;
    plan.jobspec = submission::make_jobspec(parsed, submission::Surroundings());
    plan.urgency = submission::urgency(parsed);
    plan.flags = submission::submit_flags(parsed);
    if (parsed.has("dry-run")) {
        fmt::print("{}\n", plan.jobspec.dump());
        return 0;
    }
    auto verbosity = parsed.count("verbose");
    plan.announce = verbosity > 0;
    plan.attach.label_io = parsed.has("label-io");
    plan.attach.show_events = verbosity > 1;
    plan.attach.show_exec = verbosity > 2;
    plan.attach.unbuffered = parsed.has("unbuffered");
    plan.attach.stdin_ranks = submission::input_ranks(parsed);
    plan.attach.wait_event = parsed.get("wait-event", plan.attach.wait_event);
    return context.run(&submit_and_attach, &context, &plan);
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
