#include "ledger.hpp"

#include <utility>

namespace flux::job_manager {

void Ledger::open() {
    if (std::exchange(open_, true)) return;
    wake_();
}

kvs::Transaction& Ledger::transaction() {
    open();
    return batch_.transaction;
}

void Ledger::then(Effect effect) {
    if (idle()) return effect();
    open();
    batch_.effects.push_back(std::move(effect));
}

void Ledger::flush() {
    if (!open_) return;
    if (batch_.transaction.empty() && !under_way_.empty()) {
        // Nothing of its own to write: it comes with the batch before.
        auto& last = under_way_.back();
        std::move(batch_.effects.begin(), batch_.effects.end(), std::back_inserter(last));
        batch_.effects.clear();
        open_ = false;
        return;
    }
    auto batch = std::exchange(batch_, Batch());
    open_ = false;
    under_way_.push_back(std::move(batch.effects));
    if (batch.transaction.empty())
        on_durable();
    else
        commit_(std::move(batch.transaction), [this] { on_durable(); });
}

void Ledger::on_durable() {
    auto effects = std::move(under_way_.front());
    under_way_.pop_front();
    for (auto& effect : effects) effect();
}

} // namespace flux::job_manager
