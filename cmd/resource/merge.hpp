// Listings of resources show lines that differ only in their nodes as one.
#pragma once

#include "cmd/output/format.hpp"
#include "cmd/output/value.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace flux::cmd::resource {

/// \param node_fields  the fields that tell of nodes: lines may differ in them.
/// \param absorb       adds the nodes of its second line to its first.
template <class Line, class Fields, class Absorb> std::vector<Line>
merge_lines(std::vector<Line> lines, const output::Format& format, const Fields& node_fields, Absorb absorb) {
    auto names = format.names();
    std::erase_if(names, [&](const std::string& name) {
        return std::find(std::begin(node_fields), std::end(node_fields), name) != std::end(node_fields);
    });
    std::vector<Line> result;
    std::map<std::vector<std::string>, std::size_t> known;
    for (auto& line : lines) {
        std::vector<std::string> key;
        for (const auto& name : names) key.push_back(output::to_text(line.field(name)));
        auto [found, fresh] = known.emplace(std::move(key), result.size());
        if (fresh)
            result.push_back(std::move(line));
        else
            absorb(result[found->second], line);
    }
    return result;
}

} // namespace flux::cmd::resource
