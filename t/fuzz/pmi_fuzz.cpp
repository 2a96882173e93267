#include "fuzz.hpp"

#include <pmi/process_mapping.hpp>
#include <pmi/server.hpp>

// Two clients of one server, whose lines alternate.
static void serve(std::string_view bytes) {
    flux::pmi::Server::Options options;
    options.kvsname = "job";
    options.local_clients = options.universe_size = 2;
    flux::pmi::Server server(options);
    flux::pmi::LineBuffer lines;
    lines.append(bytes);
    for (unsigned client = 0; auto line = lines.next(); client = 1 - client) {
        auto outcome = server.feed(client, *line);
        for (const auto& reply : outcome.replies) fuzz::require(reply.client < 2 && reply.bytes.ends_with('\n'));
        if (outcome.abort) return;
    }
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto text = fuzz::text(data, size);
    try {
        serve(text);
    } catch (const flux::Error&) {}
    try {
        auto blocks = flux::pmi::parse_process_mapping(text);
        fuzz::require(flux::pmi::parse_process_mapping(flux::pmi::process_mapping(blocks)) == blocks);
    } catch (const flux::Error&) {}
    return 0;
}
