#include <flux/duration.hpp>
#include <flux/initializer_watch.hpp>

#include <chrono>

namespace flux {

InitializerWatch::InitializerWatch(std::string what, double limit, std::function<void(const std::string&)> on_late)
    : what_(std::move(what)), on_late_(std::move(on_late)), thread_([this, limit] { watch(limit); }) {}

InitializerWatch::~InitializerWatch() {
    {
        std::lock_guard lock(mutex_);
        returned_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void InitializerWatch::watch(double limit) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::duration<double>(limit), [this] { return returned_; })) return;
    lock.unlock();
    on_late_(what_ + ": its initializer has not returned for " + format_duration(limit));
}

} // namespace flux
