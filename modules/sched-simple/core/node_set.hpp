// A set of node indexes with a summary: a bit for each word that has a member, so that a sparse set of 10000 nodes is
// searched by looking at a few words.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace flux::sched {

class NodeSet {
public:
    explicit NodeSet(std::size_t universe) : words_((universe + 63) / 64), summary_((words_.size() + 63) / 64) {}

    bool test(std::uint32_t node) const noexcept { return words_[node / 64] >> (node % 64) & 1; }
    std::size_t count() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }

    void set(std::uint32_t node) noexcept {
        if (test(node)) return;
        auto word = node / 64;
        words_[word] |= std::uint64_t{1} << (node % 64);
        summary_[word / 64] |= std::uint64_t{1} << (word % 64);
        ++count_;
    }

    void reset(std::uint32_t node) noexcept {
        if (!test(node)) return;
        auto word = node / 64;
        words_[word] &= ~(std::uint64_t{1} << (node % 64));
        if (words_[word] == 0) summary_[word / 64] &= ~(std::uint64_t{1} << (word % 64));
        --count_;
    }

    /// Calls `visit(node)` for the members of this that are in every set of `others` (null: no restriction), ascending,
    /// until it returns false. False when it did. The sets must not change meanwhile.
    template <class Visit> bool visit_common(std::initializer_list<const NodeSet*> others, Visit&& visit) const {
        for (std::size_t at = 0; at < summary_.size(); ++at) {
            auto live = summary_[at];
            for (auto* other : others) live &= other ? other->summary_[at] : ~std::uint64_t{0};
            for (; live != 0; live &= live - 1) {
                auto word = static_cast<std::uint32_t>(at * 64 + std::countr_zero(live));
                for (auto bits = common_word(word, others); bits != 0; bits &= bits - 1)
                    if (!visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)))) return false;
            }
        }
        return true;
    }

    std::size_t count_common(std::initializer_list<const NodeSet*> others) const noexcept {
        bool restricted = false;
        for (auto* other : others) restricted = restricted || other != nullptr;
        if (!restricted) return count_;
        std::size_t sum = 0;
        for (std::size_t word = 0; word < words_.size(); ++word)
            sum += static_cast<std::size_t>(std::popcount(common_word(word, others)));
        return sum;
    }

private:
    std::uint64_t common_word(std::size_t word, std::initializer_list<const NodeSet*> others) const noexcept {
        auto bits = words_[word];
        for (auto* other : others) bits &= other ? other->words_[word] : ~std::uint64_t{0};
        return bits;
    }

    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> summary_;
    std::size_t count_ = 0;
};

} // namespace flux::sched
