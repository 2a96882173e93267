// Count, extremes, mean and deviation of a series of numbers, as `stats-get` answers show them.
#pragma once

#include <flux/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace flux {

class RunningStats {
public:
    void add(double value) noexcept {
        min_ = count_ ? std::min(min_, value) : value;
        max_ = count_ ? std::max(max_, value) : value;
        ++count_;
        // Welford: stable for long series.
        double delta = value - mean_;
        mean_ += delta / static_cast<double>(count_);
        squares_ += delta * (value - mean_);
    }
    std::int64_t count() const noexcept { return count_; }
    double min() const noexcept { return min_; }
    double max() const noexcept { return max_; }
    double mean() const noexcept { return mean_; }
    double stddev() const noexcept { return count_ > 1 ? std::sqrt(squares_ / static_cast<double>(count_ - 1)) : 0; }
    /// `{count, min, max, mean, stddev}`
    Json to_json() const {
        return Json::object("count", count_, "min", min_, "max", max_, "mean", mean_, "stddev", stddev());
    }

private:
    std::int64_t count_ = 0;
    double min_ = 0;
    double max_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

} // namespace flux
