// Counted topic prefixes, asked for every event: does one of them begin this topic?
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace flux::broker {

class PrefixSet {
public:
    /// True when the prefix was not there before.
    bool add(std::string_view prefix) {
        auto& count = counts_[std::string(prefix)];
        if (count == 0) ++lengths_[prefix.size()];
        return count++ == 0;
    }
    /// Number of times it remains; -1 when it was not there.
    int remove(std::string_view prefix) {
        auto found = counts_.find(std::string(prefix));
        if (found == counts_.end()) return -1;
        int left = --found->second;
        if (left == 0) {
            counts_.erase(found);
            if (auto length = lengths_.find(prefix.size()); --length->second == 0) lengths_.erase(length);
        }
        return left;
    }
    bool contains(std::string_view prefix) const { return counts_.contains(std::string(prefix)); }
    bool matches(std::string_view topic) const {
        for (auto [length, count] : lengths_) {
            if (length > topic.size()) break;
            if (counts_.contains(std::string(topic.substr(0, length)))) return true;
        }
        return false;
    }
    template <class F> void for_each(F&& visit) const {
        for (const auto& [prefix, count] : counts_) visit(prefix);
    }
    void clear() {
        counts_.clear();
        lengths_.clear();
    }
    bool empty() const { return counts_.empty(); }

private:
    std::unordered_map<std::string, int> counts_;
    std::map<std::size_t, int> lengths_; // few distinct lengths: one look-up each
};

} // namespace flux::broker
