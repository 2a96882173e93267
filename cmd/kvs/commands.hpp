// The subcommands of `flux kvs`, one group a file.
#pragma once

#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/kvs_writer.hpp>

#include <optional>
#include <string>

namespace flux::cmd::kvs {

int run_copy(Context& context, const options::Parsed& parsed);
int run_dir(Context& context, const options::Parsed& parsed);
int run_eventlog_append(Context& context, const options::Parsed& parsed);
int run_eventlog_get(Context& context, const options::Parsed& parsed);
int run_eventlog_wait_event(Context& context, const options::Parsed& parsed);
int run_get(Context& context, const options::Parsed& parsed);
int run_getroot(Context& context, const options::Parsed& parsed);
int run_link(Context& context, const options::Parsed& parsed);
int run_ls(Context& context, const options::Parsed& parsed);
int run_mkdir(Context& context, const options::Parsed& parsed);
int run_move(Context& context, const options::Parsed& parsed);
int run_namespace_create(Context& context, const options::Parsed& parsed);
int run_namespace_list(Context& context, const options::Parsed& parsed);
int run_namespace_remove(Context& context, const options::Parsed& parsed);
int run_put(Context& context, const options::Parsed& parsed);
int run_readlink(Context& context, const options::Parsed& parsed);
int run_sync(Context& context, const options::Parsed& parsed);
int run_unlink(Context& context, const options::Parsed& parsed);
int run_version(Context& context, const options::Parsed& parsed);
int run_wait(Context& context, const options::Parsed& parsed);

/// `--namespace`, by default that of the process.
std::string name_space(const options::Parsed& parsed);
/// The root that `--at TREEOBJ` names. \throws Error EINVAL
std::optional<Blobref> snapshot(const options::Parsed& parsed);
/// `KEY: the system's words`: people know them, and scripts compare them.
Error about(std::string_view key, const Error& error);
/// Columns of the output: --width, the terminal's, COLUMNS, 80. 0: no limit.
std::size_t output_width(const options::Parsed& parsed);

} // namespace flux::cmd::kvs
