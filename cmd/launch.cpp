#include "cmd/launch.hpp"

#include "cmd/submission/jobspec.hpp"
#include "cmd/submission/submit.hpp"

#include <fmt/core.h>

namespace flux::cmd {

Launch::Launch(Json spec, const options::Parsed& parsed)
    : jobspec(std::move(spec)),
      urgency(submission::urgency(parsed)),
      flags(submission::submit_flags(parsed)),
      verbosity(parsed.count("verbose")) {
    attach.label_io = parsed.has("label-io");
    attach.show_events = verbosity > 1;
    attach.show_exec = verbosity > 2;
    attach.unbuffered = parsed.has("unbuffered");
}

Task<JobId> submit(Context* context, const Launch* launch) {
    auto answer = co_await submission::submit(context->handle(), launch->jobspec, launch->urgency, launch->flags);
    co_return answer.json().get<JobId>("id");
}

Task<int> submit_and_attach(Context* context, const Launch* launch) {
    auto id = co_await submit(context, launch);
    if (launch->verbosity > 0) fmt::print(stderr, "jobid: {}\n", id.f58());
    co_return co_await follow::attach(context, id, launch->attach);
}

} // namespace flux::cmd
