#include <flux/fluid.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux {
namespace {
constexpr unsigned sequences = 1024; // per millisecond
constexpr std::uint64_t timestamps = std::uint64_t{1} << 40;
} // namespace

FluidGenerator::FluidGenerator(unsigned generator, std::uint64_t start_timestamp, TimePoint now)
    : generator_(generator), start_timestamp_(start_timestamp), start_(now), last_timestamp_(start_timestamp) {
    if (generator > max_generator) throw Error(EINVAL, fmt::format("job id generator {} is out of range", generator));
}

std::uint64_t FluidGenerator::timestamp(TimePoint now) const noexcept {
    auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(std::max(now, start_) - start_).count();
    return std::max(start_timestamp_ + static_cast<std::uint64_t>(elapsed), last_timestamp_);
}

JobId FluidGenerator::next(TimePoint now) {
    auto time = timestamp(now);
    if (time == last_timestamp_ && next_sequence_ == sequences) ++time;
    if (time >= timestamps) throw Error(EOVERFLOW, "job id: timestamps are used up");
    if (time != last_timestamp_) next_sequence_ = 0;
    last_timestamp_ = time;
    return JobId(time << 24 | std::uint64_t{generator_} << 10 | next_sequence_++);
}

} // namespace flux
