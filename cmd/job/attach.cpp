// flux job attach
#include "cmd/follow/attach.hpp"

#include "cmd/job/commands.hpp"
#include "cmd/select/select.hpp"

namespace flux::cmd::job {

int run_attach(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    auto id = select::job_id(parsed, parsed.operands()[0]);
    follow::AttachOptions options;
    options.show_events = parsed.has("show-events");
    options.show_exec = parsed.has("show-exec");
    options.show_status = parsed.has("show-status");
    options.wait_event = parsed.get("wait-event", options.wait_event);
    options.label_io = parsed.has("label-io");
    options.verbose = parsed.has("verbose");
    options.quiet = parsed.has("quiet");
    options.read_only = parsed.has("read-only");
    if (auto ranks = parsed.find("stdin-ranks"); ranks && *ranks != "all") options.stdin_ranks = Idset::parse(*ranks);
    if (parsed.has("tail")) options.tail = parsed.number<unsigned>("tail", 10);
    return context.run(&follow::attach, &context, id, options);
}

} // namespace flux::cmd::job
