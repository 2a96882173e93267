// Pauses between attempts to reach the broker or a service again, each twice as long as the one before.
#pragma once

#include <flux/task.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace flux::shell {

class Backoff {
public:
    /// `co_await backoff.pause();`
    sleep_for pause() noexcept { return sleep_for(std::exchange(delay_, std::min(2 * delay_, longest))); }

private:
    static constexpr std::chrono::milliseconds longest{1000};
    std::chrono::milliseconds delay_{20};
};

} // namespace flux::shell
