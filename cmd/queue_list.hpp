// flux queue list
#pragma once

#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

namespace flux::cmd {

inline constexpr options::Option queue_list_options[] = {
    {.name = "queue",
     .key = 'q',
     .value = options::Value::required,
     .argument = "QUEUE,...",
     .help = "Include only specified queues in output."},
    {.name = "format",
     .key = 'o',
     .value = options::Value::required,
     .argument = "FORMAT",
     .help = "Specify output format using Python's string format syntax or a defined format by name (use 'help' to get "
             "a list of names)"},
    {.name = "no-header", .key = 'n', .help = "Suppress printing of header line"},
};

int run_queue_list(Context& context, const options::Parsed& parsed);

} // namespace flux::cmd
