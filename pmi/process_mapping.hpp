// Where the processes of a job are, as PMI tells it: key `PMI_process_mapping` with `(vector,(node,nodes,ppn),…)` and
// key `flux.taskmap` with the RFC 34 form. Free of JSON libraries, since libpmi carries it into foreign programs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux::pmi {

/// `ppn` consecutive ranks on each of `nodes` consecutive nodes, the whole `repeat` times.
struct MapBlock {
    unsigned node;
    unsigned nodes;
    unsigned ppn;
    unsigned repeat = 1;

    bool operator==(const MapBlock&) const = default;
};

/// Value of `PMI_process_mapping`; empty when nothing is known (no blocks).
std::string process_mapping(std::span<const MapBlock> blocks);

/// \throws Error EPROTO for text of another form.
std::vector<MapBlock> parse_process_mapping(std::string_view text);
/// The RFC 34 form, `[[node,nodes,ppn,repeat],…]`, bare or as member `map` of an object.
/// \throws Error EPROTO for text of another form.
std::vector<MapBlock> parse_taskmap(std::string_view text);

/// The ranks below `size` on the node of `rank`, ascending. Ranks beyond the blocks begin again with the first block;
/// without blocks every rank is alone.
std::vector<unsigned> clique(std::span<const MapBlock> blocks, unsigned rank, unsigned size);

} // namespace flux::pmi
