// flux submit: queue one job or many copies of it (cli.md 6.1).
#include "cmd/bulk.hpp"
#include "cmd/submission/options.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd {
namespace {

Task<int> submit_all(Context* context, const options::Parsed* parsed) {
    Bulk bulk(*context, *parsed);
    submission::Tags none;
    co_await bulk.submit(parsed, none);
    co_return co_await bulk.finish();
}

int run(Context& context, const options::Parsed& parsed) {
    if (submission::input_ranks(parsed)) throw Error(EINVAL, "Per-rank --input is not supported by submit");
    if (parsed.has("dry-run")) {
        fmt::print("{}\n", submission::make_jobspec(parsed, submission::Surroundings()).dump());
        return 0;
    }
    return context.run(&submit_all, &context, &parsed);
}

constexpr auto submit_options =
    options::join(submission::common_options, submission::task_options, submission::bulk_options);
static_assert(options::consistent(submit_options));

} // namespace

extern const options::Command cmd_submit;
const options::Command cmd_submit{.name = "submit",
                                  .program = "flux-submit",
                                  .synopsis = "[OPTIONS...] COMMAND [ARGS...]",
                                  .help = "Submit a job to a Flux instance",
                                  .options = submit_options,
                                  .family = options::Family::submission,
                                  .run = &run};

} // namespace flux::cmd
