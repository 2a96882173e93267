// The exchange of PMI pairs between the shells of a job: up a k-ary tree of shells, merged on the way, and the union
// back down. Pure: requests and answers are the embedder's.
#pragma once

#include <cstddef>
#include <optional>
#include <pmi/server.hpp>
#include <vector>

namespace flux::shell {

class PmiExchange {
public:
    /// \param position  of this shell among the `size` that take part; 0 is the root.
    PmiExchange(std::size_t position, std::size_t size, std::size_t fanout);

    bool root() const noexcept { return position_ == 0; }
    std::size_t parent() const noexcept { return (position_ - 1) / fanout_; }

    /// Positions of the children.
    const std::vector<std::size_t>& children() const noexcept { return children_; }

    /// This shell's pairs, or those of the subtree of a child. Returns what goes to the parent (of the root: the union,
    /// which goes to everybody) once all have come; the next round begins with that.
    std::optional<pmi::Pairs> add(pmi::Pairs pairs);

private:
    const std::size_t position_;
    const std::size_t fanout_;
    std::vector<std::size_t> children_;
    std::size_t missing_; // of the children and this shell itself
    pmi::Pairs pairs_;
};

} // namespace flux::shell
