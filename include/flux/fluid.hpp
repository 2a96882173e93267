// Making job ids.
#pragma once

#include <flux/job_id.hpp>

#include <chrono>
#include <cstdint>

namespace flux {

/// Makes ids that rise and never repeat, as long as no other generator of the instance has the same number and every
/// start begins above the ids of the one before.
class FluidGenerator {
public:
    using TimePoint = std::chrono::steady_clock::time_point;
    static constexpr unsigned max_generator = 0x3fff;

    /// \param generator        number of this generator, at most max_generator.
    /// \param start_timestamp  timestamp, in ms since the instance's epoch, that belongs to `now`.
    /// \throws Error EINVAL for a number out of range.
    FluidGenerator(unsigned generator, std::uint64_t start_timestamp, TimePoint now);

    /// The next id. When a millisecond has no number left, or the clock stands still, the next millisecond is used
    /// up early instead of waiting for it. \throws Error EOVERFLOW when timestamps are used up (after 34 years).
    JobId next(TimePoint now);

    /// Timestamp of `now`, or of the last id when that is ahead: where another generator of the instance may start.
    std::uint64_t timestamp(TimePoint now) const noexcept;

private:
    unsigned generator_;
    std::uint64_t start_timestamp_;
    TimePoint start_;
    std::uint64_t last_timestamp_;
    unsigned next_sequence_ = 0;
};

} // namespace flux
