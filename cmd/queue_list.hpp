// flux queue list
#pragma once

#include "cmd/context.hpp"
#include "cmd/formats.hpp"

namespace flux::cmd {

inline constexpr options::Option queue_list_only[] = {
    {.name = "queue",
     .key = 'q',
     .value = options::Value::required,
     .argument = "QUEUE,...",
     .help = "Include only specified queues in output."},
};
inline constexpr auto queue_list_options = options::join(queue_list_only, format_options);

int run_queue_list(Context& context, const options::Parsed& parsed);

} // namespace flux::cmd
