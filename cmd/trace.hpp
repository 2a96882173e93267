// What `flux module trace` and `flux overlay trace` have in common: messages that pass, one a line.
#pragma once

#include "cmd/context.hpp"
#include "cmd/formats.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/output/human_time.hpp"

#include <string>

namespace flux::cmd {

inline constexpr options::Option trace_options[] = {
    {.name = "full", .key = 'f', .help = "Show JSON message payload, if any"},
    {.name = "type",
     .key = 't',
     .value = options::Value::required,
     .argument = "TYPE,...",
     .help = "Filter output by message type (request, response, event, control)"},
    {.name = "human", .key = 'H', .help = "Human readable output"},
    {.name = "delta", .key = 'd', .help = "With --human, show timestamp delta between messages"},
    color_row(),
};

class Trace {
public:
    /// \param topic_glob  topics to show.
    /// \throws Error for options that are wrong
    Trace(std::string topic, const options::Parsed& parsed, std::string_view topic_glob);

    std::string topic;
    Json payload; ///< of the request; the service's own members are to be added
    bool full;
    bool human;
    bool color;
    output::HumanTime time;
};

/// Print messages until the connection ends.
/// \param who  what a record says of where the message was seen.
Task<int> run_trace(Handle* handle, Trace* trace, std::string (*who)(JsonView record));

} // namespace flux::cmd
