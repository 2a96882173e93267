#include <flux/taskmap.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace flux {
namespace {

[[noreturn]] void fail(std::string_view why) { throw Error(EINVAL, fmt::format("taskmap: {}", why)); }

/// Drops `token` off the front of `text`, and blanks before it.
bool take(std::string_view& text, std::string_view token) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (!text.starts_with(token)) return false;
    text.remove_prefix(token.size());
    return true;
}

bool take_number(std::string_view& text, unsigned& number) {
    take(text, "");
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return status == std::errc();
}

} // namespace

void Taskmap::add_block(const Block& block) {
    if (block.node >= max_nodes || block.nnodes > max_nodes - block.node) fail("too many nodes");
    if (block.nnodes == 0 || block.ppn == 0 || block.repeat == 0) fail("empty block");
    // Each factor is bounded first: the product of three 32-bit numbers may overflow.
    auto free = max_tasks - ntasks_;
    if (block.ppn > free || block.repeat > free || std::size_t{block.ppn} * block.repeat > free ||
        block.ntasks() > free)
        fail("too many tasks");
    ntasks_ += block.ntasks();
    blocks_.push_back(block);
}

void Taskmap::append(unsigned node, unsigned nnodes, unsigned ppn) {
    add_block({node, nnodes, ppn, 1});
    if (blocks_.size() < 2) return;
    auto last = blocks_.end() - 2;
    if (last->repeat == 1 && last->ppn == ppn && last->node + last->nnodes == node) {
        last->nnodes += nnodes;
        blocks_.pop_back();
    } else if (last->repeat == 1 && last->nnodes == 1 && last->node == node && nnodes == 1) {
        last->ppn += ppn;
        blocks_.pop_back();
    }
    if (blocks_.size() < 2) return;
    last = blocks_.end() - 2;
    const auto& added = blocks_.back();
    if (last->node == added.node && last->nnodes == added.nnodes && last->ppn == added.ppn) {
        last->repeat += added.repeat;
        blocks_.pop_back();
    }
}

Taskmap Taskmap::parse(std::string_view text) {
    if (text.starts_with('[') || text.starts_with('{')) {
        Json value;
        try {
            value = Json::parse(text);
        } catch (const Error& error) {
            fail(error.text());
        }
        return from_json(value);
    }
    if (text.empty()) return {};
    return text.find("vector") != text.npos ? parse_pmi(text) : parse_raw(text);
}

Taskmap Taskmap::from_json(JsonView value) {
    if (value.is_object()) {
        if (value["version"].try_as<int>() != 1) fail("version is not 1");
        value = value["map"];
    }
    if (!value.is_array()) fail("not an array");
    Taskmap result;
    for (auto element : value.elements()) {
        auto numbers = element.try_as<std::vector<unsigned>>();
        if (!numbers || numbers->size() != 4) fail("a block is not four numbers");
        result.add_block({(*numbers)[0], (*numbers)[1], (*numbers)[2], (*numbers)[3]});
    }
    return result;
}

Taskmap Taskmap::parse_pmi(std::string_view text) {
    Taskmap result;
    bool good = take(text, "(") && take(text, "vector");
    while (good && take(text, ",")) {
        unsigned node, nnodes, ppn;
        good = take(text, "(") && take_number(text, node) && take(text, ",") && take_number(text, nnodes) &&
               take(text, ",") && take_number(text, ppn) && take(text, ")");
        if (!good) break;
        result.add_block({node, nnodes, ppn, 1});
    }
    if (!good || !take(text, ")") || (take(text, ""), !text.empty())) fail("malformed PMI process mapping");
    return result;
}

Taskmap Taskmap::parse_raw(std::string_view text) {
    struct Piece {
        Idset::Range tasks;
        unsigned node;
    };
    std::vector<Piece> pieces;
    for (unsigned node = 0;; ++node) {
        auto element = text.substr(0, text.find(';'));
        auto tasks = Idset::parse(element);
        for (auto range : tasks.ranges()) pieces.push_back({range, node});
        if (element.size() == text.size()) break;
        text.remove_prefix(element.size() + 1);
    }
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.tasks < b.tasks; });
    Taskmap result;
    for (const auto& [tasks, node] : pieces) {
        if (tasks.first < result.ntasks_) fail(fmt::format("task {} is on two nodes", tasks.first));
        if (tasks.first > result.ntasks_) fail(fmt::format("task {} is on no node", result.ntasks_));
        result.append(node, 1, tasks.count());
    }
    return result;
}

Taskmap Taskmap::block(std::span<const unsigned> counts) {
    Taskmap result;
    for (unsigned node = 0; node < counts.size(); ++node)
        if (counts[node] > 0) result.append(node, 1, counts[node]);
    return result;
}

Taskmap Taskmap::cyclic(std::span<const unsigned> counts, unsigned stride) {
    if (stride == 0) fail("cyclic needs a stride above 0");
    Taskmap result;
    std::vector<unsigned> rest(counts.begin(), counts.end());
    for (bool more = true; more;) {
        more = false;
        for (unsigned node = 0; node < rest.size(); ++node) {
            auto dealt = std::min(stride, rest[node]);
            if (dealt == 0) continue;
            result.append(node, 1, dealt);
            rest[node] -= dealt;
            more = true;
        }
    }
    return result;
}

Taskmap Taskmap::hostfile(std::string_view text, const Hostlist& nodes, std::size_t ntasks) {
    std::vector<unsigned> sequence;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        for (const auto& host : Hostlist::parse(line)) {
            auto node = nodes.find(host);
            if (!node) fail(fmt::format("host {} is not in the job", host));
            sequence.push_back(static_cast<unsigned>(*node));
        }
    }
    if (sequence.empty()) fail("the hostfile lists no host");
    Taskmap result;
    for (std::size_t task = 0; task < ntasks; ++task) result.append(sequence[task % sequence.size()], 1, 1);
    return result;
}

void Taskmap::require(std::size_t ntasks, std::size_t nnodes) const {
    if (ntasks_ != ntasks) fail(fmt::format("got {} total tasks, expected {}", ntasks_, ntasks));
    if (auto have = this->nnodes(); have != nnodes) fail(fmt::format("got {} total nodes, expected {}", have, nnodes));
}

Idset Taskmap::nodes() const {
    Idset result;
    for (const auto& block : blocks_) result.set(block.node, block.node + block.nnodes - 1);
    return result;
}

Idset Taskmap::tasks_of(unsigned node) const {
    Idset result;
    std::size_t base = 0;
    for (const auto& block : blocks_) {
        if (node >= block.node && node - block.node < block.nnodes) {
            auto first = base + std::size_t{node - block.node} * block.ppn;
            for (unsigned turn = 0; turn < block.repeat; ++turn, first += std::size_t{block.nnodes} * block.ppn)
                result.set(static_cast<Idset::Id>(first), static_cast<Idset::Id>(first + block.ppn - 1));
        }
        base += block.ntasks();
    }
    return result;
}

std::optional<unsigned> Taskmap::node_of(std::size_t task) const noexcept {
    for (const auto& block : blocks_) {
        if (task < block.ntasks()) return block.node + static_cast<unsigned>(task / block.ppn % block.nnodes);
        task -= block.ntasks();
    }
    return std::nullopt;
}

Json Taskmap::blocks_json() const {
    auto list = Json::array();
    for (const auto& block : blocks_) list.append(Json::array_of(block.node, block.nnodes, block.ppn, block.repeat));
    return list;
}

Json Taskmap::to_json() const { return Json::object("version", 1, "map", blocks_json()); }

std::string Taskmap::encode_pmi() const {
    if (!known()) return {};
    std::string text = "(vector";
    for (const auto& block : blocks_)
        for (unsigned turn = 0; turn < block.repeat; ++turn)
            fmt::format_to(std::back_inserter(text), ",({},{},{})", block.node, block.nnodes, block.ppn);
    return text + ')';
}

std::string Taskmap::encode_raw() const {
    // One walk over the blocks for all nodes: asking each node for its tasks would be quadratic.
    std::vector<Idset> tasks(nodes().last().value_or(0) + 1);
    Idset::Id next = 0;
    for (const auto& block : blocks_) {
        for (unsigned turn = 0; turn < block.repeat; ++turn) {
            for (auto node = block.node; node < block.node + block.nnodes; ++node) {
                tasks[node].set(next, next + block.ppn - 1);
                next += block.ppn;
            }
        }
    }
    std::string text;
    for (std::size_t node = 0; node < tasks.size(); ++node) {
        if (node > 0) text += ';';
        text += tasks[node].encode();
    }
    return text;
}

} // namespace flux
