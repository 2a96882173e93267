#include "alloc_queue.hpp"

#include <iterator>

namespace flux::job_manager {

void AllocQueue::open(std::optional<std::size_t> limit) {
    close();
    open_ = true;
    limit_ = limit;
}

void AllocQueue::close() {
    open_ = false;
    requested_.clear();
    cancelling_ = 0;
    cancels_.clear();
    prioritize_.clear();
    for (auto at = entries_.begin(); at != entries_.end();) {
        auto& [id, entry] = *at;
        if (!entry.wanted) {
            at = entries_.erase(at);
            continue;
        }
        if (entry.phase != Phase::waiting) waiting_.insert({entry.priority, id});
        entry.phase = Phase::waiting;
        ++at;
    }
}

void AllocQueue::want(JobId id, std::int64_t priority) {
    auto [at, added] = entries_.try_emplace(id, Entry{priority, Phase::waiting, true});
    auto& entry = at->second;
    if (added) {
        waiting_.insert({priority, id});
        return;
    }
    if (entry.wanted && entry.priority == priority) return;
    if (entry.phase == Phase::waiting) {
        waiting_.erase({entry.priority, id});
        waiting_.insert({priority, id});
    } else if (entry.phase == Phase::requested) {
        requested_.erase({entry.priority, id});
        requested_.insert({priority, id});
        prioritize_[id] = priority;
    }
    entry.priority = priority;
    entry.wanted = true;
}

void AllocQueue::cancel(JobId id, Entry& entry) {
    requested_.erase({entry.priority, id});
    prioritize_.erase(id);
    entry.phase = Phase::cancelling;
    ++cancelling_;
    cancels_.push_back(id);
}

void AllocQueue::unwant(JobId id) {
    auto at = entries_.find(id);
    if (at == entries_.end() || !at->second.wanted) return;
    auto& entry = at->second;
    if (entry.phase == Phase::waiting) {
        waiting_.erase({entry.priority, id});
        entries_.erase(at);
        return;
    }
    if (entry.phase == Phase::requested) cancel(id, entry);
    entry.wanted = false;
}

bool AllocQueue::answered(JobId id) {
    auto at = entries_.find(id);
    if (at == entries_.end() || at->second.phase == Phase::waiting) return false;
    auto& entry = at->second;
    if (entry.phase == Phase::cancelling) {
        --cancelling_;
    } else {
        requested_.erase({entry.priority, id});
        prioritize_.erase(id);
    }
    entries_.erase(at);
    return true;
}

void AllocQueue::cancelled(JobId id) {
    auto at = entries_.find(id);
    if (at == entries_.end() || at->second.phase == Phase::waiting) return;
    bool wanted = at->second.wanted;
    auto priority = at->second.priority;
    answered(id);
    if (wanted) want(id, priority);
}

bool AllocQueue::wanted(JobId id) const noexcept {
    auto at = entries_.find(id);
    return at != entries_.end() && at->second.wanted;
}

AllocQueue::Orders AllocQueue::take_orders() {
    Orders orders;
    if (!open_) return orders;
    while (!waiting_.empty() && (!limit_ || outstanding() < *limit_)) {
        auto place = *waiting_.begin();
        waiting_.erase(waiting_.begin());
        entries_.at(place.id).phase = Phase::requested;
        requested_.insert(place);
        orders.request.push_back(place.id);
    }
    // Each request that is being taken back makes room for one of the first that wait.
    while (cancelling_ < waiting_.size() && !requested_.empty()) {
        auto worst = *std::prev(requested_.end());
        if (!(*std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(cancelling_)) < worst)) break;
        cancel(worst.id, entries_.at(worst.id));
    }
    orders.cancel = std::move(cancels_);
    cancels_.clear();
    orders.prioritize.assign(prioritize_.begin(), prioritize_.end());
    prioritize_.clear();
    return orders;
}

} // namespace flux::job_manager
