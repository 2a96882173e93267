// The subcommands of `flux job`, one group a file.
#pragma once

#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

namespace flux::cmd::job {

int run_attach(Context& context, const options::Parsed& parsed);
int run_eventlog(Context& context, const options::Parsed& parsed);
int run_hostpids(Context& context, const options::Parsed& parsed);
int run_id(Context& context, const options::Parsed& parsed);
int run_info(Context& context, const options::Parsed& parsed);
int run_kill(Context& context, const options::Parsed& parsed);
int run_killall(Context& context, const options::Parsed& parsed);
int run_last(Context& context, const options::Parsed& parsed);
int run_list(Context& context, const options::Parsed& parsed);
int run_list_ids(Context& context, const options::Parsed& parsed);
int run_list_inactive(Context& context, const options::Parsed& parsed);
int run_memo(Context& context, const options::Parsed& parsed);
int run_namespace(Context& context, const options::Parsed& parsed);
int run_purge(Context& context, const options::Parsed& parsed);
int run_raise(Context& context, const options::Parsed& parsed);
int run_raiseall(Context& context, const options::Parsed& parsed);
int run_stats(Context& context, const options::Parsed& parsed);
int run_status(Context& context, const options::Parsed& parsed);
int run_submit(Context& context, const options::Parsed& parsed);
int run_taskmap(Context& context, const options::Parsed& parsed);
int run_timeleft(Context& context, const options::Parsed& parsed);
int run_urgency(Context& context, const options::Parsed& parsed);
int run_wait(Context& context, const options::Parsed& parsed);
int run_wait_event(Context& context, const options::Parsed& parsed);

} // namespace flux::cmd::job
