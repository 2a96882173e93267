// What the ranks find on their hosts, gathered on the way to rank 0. Any rank.
#pragma once

#include <flux/handle.hpp>
#include <flux/resource_set.hpp>

#include <cstddef>
#include <functional>

namespace flux::resource {

/// On a follower: sends what it got to its parent, in one message when its subtree is complete within a moment.
class Reduction {
public:
    /// \param subtree  number of ranks from here down
    Reduction(Handle& handle, Scope& scope, std::size_t subtree);
    /// These ranks have found this. What was there before is replaced.
    void add(const ResourceSet& found);

private:
    static Task<> send(Reduction* self);
    void start();

    Handle& handle_;
    Scope& scope_;
    std::size_t subtree_;
    ResourceSet waiting_;
    Idset reported_;
    bool sending_ = false;
    Timer moment_;
};

} // namespace flux::resource
