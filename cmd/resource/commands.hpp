// The subcommands of `flux resource`, and what they share.
#pragma once

#include "cmd/context.hpp"
#include "cmd/inventory/inventory.hpp"
#include "cmd/options/parse.hpp"

namespace flux::cmd::resource {

int run_eventlog(Context& context, const options::Parsed& parsed);
int run_info(Context& context, const options::Parsed& parsed);
int run_list(Context& context, const options::Parsed& parsed);
int run_R(Context& context, const options::Parsed& parsed);
int run_status(Context& context, const options::Parsed& parsed);
/// The listing of `flux resource drain` without targets.
int run_drain_list(Context& context, const options::Parsed& parsed);

using inventory::decode;
using inventory::Queues;

/// The ranks that `-i, --include` and `-q, --queue` leave of a resource set; unknown ones count for nothing.
Idset selected(const options::Parsed& parsed, const Queues& queues, const ResourceSet& resources);

} // namespace flux::cmd::resource
