// Task maps (RFC 34): which tasks of a job run on which of its nodes.
#pragma once

#include <flux/hostlist.hpp>
#include <flux/idset.hpp>
#include <flux/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux {

/// A map of tasks to nodes, both numbered from 0; the node number is the shell's rank. The empty map means "unknown".
class Taskmap {
public:
    /// Consecutive tasks: `ppn` on each of `nnodes` consecutive nodes, and that `repeat` times.
    struct Block {
        unsigned node;
        unsigned nnodes;
        unsigned ppn;
        unsigned repeat;
        std::size_t ntasks() const noexcept { return std::size_t{nnodes} * ppn * repeat; }
        bool operator==(const Block&) const = default;
    };
    /// What a map may hold, so that a short text cannot cost its reader unbounded memory.
    static constexpr std::size_t max_tasks = std::size_t{1} << 24;
    static constexpr unsigned max_nodes = 1u << 20;

    Taskmap() = default;
    /// Read `[[0,2,1,1]]`, the same in `{"version":1,"map":…}`, `(vector,(0,2,1))`, `0;1` or the empty string.
    /// \throws Error EINVAL
    static Taskmap parse(std::string_view text);
    /// Read an array of blocks, or the object that wraps it. \throws Error EINVAL
    static Taskmap from_json(JsonView value);

    // Schemes. Each gives node i its `counts[i]` tasks, but for hostfile().

    /// Node after node.
    static Taskmap block(std::span<const unsigned> counts);
    /// `stride` tasks to each node in turn, until all have theirs.
    static Taskmap cyclic(std::span<const unsigned> counts, unsigned stride = 1);
    /// Task after task to the hosts that `text` lists, one hostlist a line, beginning again at its end.
    /// \throws Error EINVAL when a host is none of `nodes`, or no host is listed.
    static Taskmap hostfile(std::string_view text, const Hostlist& nodes, std::size_t ntasks);

    /// Throw unless the map has as many tasks and nodes. \throws Error EINVAL `got X total tasks, expected Y`
    void require(std::size_t ntasks, std::size_t nnodes) const;

    /// Add tasks at the end, `ppn` on each of `nnodes` nodes, as compactly as they fit. \throws Error EINVAL
    void append(unsigned node, unsigned nnodes, unsigned ppn);

    /// False for the empty map.
    bool known() const noexcept { return !blocks_.empty(); }
    std::span<const Block> blocks() const& noexcept { return blocks_; }
    void blocks() const&& = delete; // a loop over the blocks of a temporary would outlive them
    std::size_t ntasks() const noexcept { return ntasks_; }
    /// The nodes that have tasks, and how many they are.
    Idset nodes() const;
    std::size_t nnodes() const { return nodes().count(); }
    /// The tasks of a node; empty when it has none.
    Idset tasks_of(unsigned node) const;
    /// The node of a task; nothing when there is no such task.
    std::optional<unsigned> node_of(std::size_t task) const noexcept;

    /// `{"version":1,"map":[[0,2,1,1]]}`
    Json to_json() const;
    /// `[[0,2,1,1]]`
    std::string encode() const { return blocks_json().dump(); }
    /// `(vector,(0,2,1))`, empty when unknown: the value of PMI_process_mapping.
    std::string encode_pmi() const;
    /// `0;1`: the tasks of each node.
    std::string encode_raw() const;

    bool operator==(const Taskmap&) const = default;

private:
    static Taskmap parse_pmi(std::string_view text);
    static Taskmap parse_raw(std::string_view text);
    void add_block(const Block& block);
    Json blocks_json() const;

    std::vector<Block> blocks_;
    std::size_t ntasks_ = 0;
};

} // namespace flux
