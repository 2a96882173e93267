// Write-ahead in one place: changes of the store are gathered, and what may only happen once they are durable waits for
// the answer. Everything of one turn of the loop is one batch; batches become durable in their order.
#pragma once

#include <flux/kvs.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace flux::job_manager {

class Ledger {
public:
    using Effect = std::function<void()>;
    /// Writes a transaction after all that were given before, and calls back when it is durable.
    using Commit = std::function<void(kvs::Transaction, Effect durable)>;
    /// Has flush() called at the end of this turn of the loop.
    using Wake = std::function<void()>;
    Ledger(Commit commit, Wake wake) : commit_(std::move(commit)), wake_(std::move(wake)) {}

    /// The changes that are being gathered.
    kvs::Transaction& transaction();
    /// When everything so far is durable; at once when it is.
    void then(Effect effect);
    /// Everything so far is.
    bool idle() const noexcept { return under_way_.empty() && !open_; }
    /// Give what was gathered to the store.
    void flush();

private:
    struct Batch {
        kvs::Transaction transaction;
        std::vector<Effect> effects;
    };
    void open();
    void on_durable();

    Commit commit_;
    Wake wake_;
    Batch batch_;
    bool open_ = false;
    std::deque<std::vector<Effect>> under_way_;
};

} // namespace flux::job_manager
