// For hosts of plugins: speaks up when somebody else's code, which runs on the host's thread, does not come back.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace flux {

/// Watches from construction to destruction, on a thread of its own.
class InitializerWatch {
public:
    /// \param what     whose code runs, for the text.
    /// \param limit    how long it may take, in seconds.
    /// \param on_late  called once, on the watching thread, with `WHAT: its initializer has not returned for LIMIT`;
    ///                 the destructor waits for it.
    InitializerWatch(std::string what, double limit, std::function<void(const std::string& text)> on_late);
    ~InitializerWatch();
    InitializerWatch(const InitializerWatch&) = delete;
    InitializerWatch& operator=(const InitializerWatch&) = delete;

private:
    void watch(double limit);

    std::string what_;
    std::function<void(const std::string&)> on_late_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool returned_ = false;
    std::thread thread_; // last: it uses the others
};

} // namespace flux
