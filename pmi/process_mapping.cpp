#include <flux/error.hpp>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <pmi/process_mapping.hpp>

namespace flux::pmi {

namespace {

/// Reads brackets, commas and numbers, skipping white space.
class Scanner {
public:
    Scanner(std::string_view text, const char* what) : all_(text), rest_(text), what_(what) {}

    bool accept(std::string_view token) {
        const auto start = rest_.find_first_not_of(" \t\n");
        if (start == rest_.npos || !rest_.substr(start).starts_with(token)) return false;
        rest_.remove_prefix(start + token.size());
        return true;
    }
    void expect(std::string_view token) {
        if (!accept(token)) refuse("expected '" + std::string(token) + "'");
    }
    unsigned number(unsigned minimum) {
        accept("");
        std::uint32_t value = 0;
        const auto [end, failure] = std::from_chars(rest_.begin(), rest_.end(), value);
        if (failure != std::errc{} || value < minimum || value > INT32_MAX) refuse("expected a number");
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.begin()));
        return value;
    }
    void end() {
        if (rest_.find_first_not_of(" \t\n") != rest_.npos) refuse("expected the end");
    }
    [[noreturn]] void refuse(const std::string& why) const {
        throw Error(EPROTO, std::string(what_) + ": " + why + " at byte " + std::to_string(all_.size() - rest_.size()));
    }

private:
    std::string_view all_;
    std::string_view rest_;
    const char* what_;
};

/// Calls `assign(rank, node)` for ranks 0, 1, … below `size` until it says false.
template <class Assign> void walk(std::span<const MapBlock> blocks, unsigned size, Assign assign) {
    for (unsigned rank = 0; rank < size;)
        for (const auto& block : blocks)
            for (unsigned turn = 0; turn < block.repeat; ++turn)
                for (unsigned node = 0; node < block.nodes; ++node)
                    for (unsigned process = 0; process < block.ppn; ++process)
                        if (rank == size || !assign(rank++, block.node + node)) return;
}

} // namespace

std::string process_mapping(std::span<const MapBlock> blocks) {
    if (blocks.empty()) return {};
    std::string text = "(vector";
    for (const auto& block : blocks)
        for (unsigned turn = 0; turn < block.repeat; ++turn)
            text += ",(" + std::to_string(block.node) + ',' + std::to_string(block.nodes) + ',' +
                    std::to_string(block.ppn) + ')';
    return text + ')';
}

std::vector<MapBlock> parse_process_mapping(std::string_view text) {
    std::vector<MapBlock> blocks;
    Scanner in(text, "PMI_process_mapping");
    in.expect("(");
    in.expect("vector");
    while (in.accept(",")) {
        in.expect("(");
        MapBlock block{};
        block.node = in.number(0);
        in.expect(",");
        block.nodes = in.number(1);
        in.expect(",");
        block.ppn = in.number(1);
        in.expect(")");
        blocks.push_back(block);
    }
    in.expect(")");
    in.end();
    return blocks;
}

std::vector<MapBlock> parse_taskmap(std::string_view text) {
    std::vector<MapBlock> blocks;
    Scanner in(text, "flux.taskmap");
    const auto version = [&] {
        in.expect("\"version\"");
        in.expect(":");
        if (in.number(0) != 1) in.refuse("unknown version");
    };
    // The version stands before or after the map.
    const bool wrapped = in.accept("{");
    bool versioned = false;
    if (wrapped) {
        if (!in.accept("\"map\"")) {
            version();
            versioned = true;
            in.expect(",");
            in.expect("\"map\"");
        }
        in.expect(":");
    }
    in.expect("[");
    if (!in.accept("]")) {
        do {
            in.expect("[");
            MapBlock block{};
            block.node = in.number(0);
            for (auto* field : {&block.nodes, &block.ppn, &block.repeat}) {
                in.expect(",");
                *field = in.number(1);
            }
            in.expect("]");
            blocks.push_back(block);
        } while (in.accept(","));
        in.expect("]");
    }
    if (wrapped) {
        if (!versioned && in.accept(",")) version();
        in.expect("}");
    }
    in.end();
    return blocks;
}

std::vector<unsigned> clique(std::span<const MapBlock> blocks, unsigned rank, unsigned size) {
    if (blocks.empty()) return {rank};
    std::optional<unsigned> home;
    walk(blocks, size, [&](unsigned walked, unsigned node) {
        if (walked == rank) home = node;
        return !home;
    });
    std::vector<unsigned> ranks;
    walk(blocks, size, [&](unsigned walked, unsigned node) {
        if (node == home) ranks.push_back(walked);
        return true;
    });
    return ranks;
}

} // namespace flux::pmi
