// What to do when the first job of the queue has to wait.
#pragma once

#include "core/state.hpp"

namespace flux::sched {

class Policy {
public:
    virtual ~Policy() = default;
    /// The head of the queue does not fit now. At most `limit` jobs may be started.
    virtual void behind_head(State& state, double now, std::size_t limit, Actions& out) = 0;
    /// Whether estimates for the whole queue make sense: only when nothing overtakes.
    virtual bool keeps_order() const noexcept = 0;
};

/// Nobody overtakes.
class StrictFifo final : public Policy {
public:
    void behind_head(State&, double, std::size_t, Actions&) override {}
    bool keeps_order() const noexcept override { return true; }
};

/// EASY backfill: a later job may start if it is over before the head could start.
class EasyBackfill final : public Policy {
public:
    void behind_head(State& state, double now, std::size_t limit, Actions& out) override;
    bool keeps_order() const noexcept override { return false; }

private:
    std::optional<double> shadow(State& state, double now);

    // The head's start is the same as long as nothing but backfill happens.
    JobId head_;
    std::uint64_t generation_ = 0;
    std::optional<double> shadow_;
    JobId annotated_;
};

} // namespace flux::sched
