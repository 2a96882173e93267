// Jobs that are Flux instances: what `batch` and `alloc` have in common.
#pragma once

#include "cmd/options/parse.hpp"
#include "cmd/submission/jobspec.hpp"

#include <string>
#include <vector>

namespace flux::submission {

inline constexpr options::Option instance_options[] = {
    {.name = "nslots",
     .key = 'n',
     .value = options::Value::required,
     .argument = "N",
     .help = "Number of total resource slots requested. The size of a resource slot may be specified via the -c, "
             "--cores-per-slot and -g, --gpus-per-slot options. The default slot size is 1 core."},
    {.name = "cores-per-slot",
     .key = 'c',
     .value = options::Value::required,
     .argument = "N",
     .help = "Number of cores to allocate per slot"},
    {.name = "gpus-per-slot",
     .key = 'g',
     .value = options::Value::required,
     .argument = "N",
     .help = "Number of GPUs to allocate per slot"},
    {.name = "nodes",
     .key = 'N',
     .value = options::Value::required,
     .argument = "N",
     .help = "Distribute allocated resource slots across N individual nodes"},
    {.name = "exclusive", .key = 'x', .help = "With -N, --nodes, allocate nodes exclusively"},
    {.name = "conf",
     .value = options::Value::required,
     .argument = "CONF",
     .help =
         "Set configuration for a child Flux instance. CONF may be a multiline string in JSON or TOML, a configuration "
         "key=value, a path to a JSON or TOML file, or a configuration loaded by name from a standard search path. "
         "This option may specified multiple times, in which case the config is iteratively updated."},
    {.name = "broker-opts",
     .value = options::Value::required,
     .argument = "OPTS",
     .help = "Pass options to flux brokers"},
    {.name = "broker-opt",
     .value = options::Value::required,
     .argument = "OPTS",
     .hidden = true,
     .same_as = "broker-opts"},
    {.name = "dump", .value = options::Value::optional, .argument = "FILE", .help = "Archive KVS on exit"},
};

/// The jobspec of an instance.
/// \param program  what its initial program is, with arguments.
/// \param broker   further arguments of its brokers.
/// \throws Error
JobspecBuilder make_instance(const options::Parsed& parsed, const std::vector<std::string>& program,
                             const std::vector<std::string>& broker = {});

} // namespace flux::submission
