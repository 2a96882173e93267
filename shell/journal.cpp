#include "journal.hpp"

namespace flux::shell {
namespace {

constexpr std::size_t low_water = 256 * 1024;
// So much goes to the writer without waiting for the end of the turn.
constexpr std::size_t flush_size = 256 * 1024;

} // namespace

void Journal::open(Handle& handle, std::string_view name_space) {
    kvs::WriterOptions options;
    options.name_space(name_space).flags(kvs_protocol::CommitFlag::wait_space);
    writer_.emplace(handle, options);
}

void Journal::attach(Handle& handle) {
    if (writer_) writer_->attach(handle);
}

void Journal::append(std::string_view key, const EventlogEntry& event) {
    if (!writer_) return;
    pending_.append(key, event.encode());
    if (pending_.bytes() > flush_size)
        writer_->add(std::exchange(pending_, {}), [this](const Error* failure) { committed(failure); });
    if (std::exchange(flush_posted_, true)) return;
    loop_.post([this] { flush(); });
}

void Journal::flush() {
    flush_posted_ = false;
    if (pending_.empty()) return;
    writer_->add(std::exchange(pending_, {}), [this](const Error* failure) { committed(failure); });
}

void Journal::committed(const Error* failure) {
    if (failure && on_failure_) std::exchange(on_failure_, nullptr)(*failure);
    if (bytes() > low_water) return;
    for (auto& callback : std::exchange(low_callbacks_, {})) callback();
}

std::size_t Journal::bytes() const noexcept { return pending_.bytes() + (writer_ ? writer_->bytes() : 0); }

void Journal::when_low(std::function<void()> callback) { low_callbacks_.push_back(std::move(callback)); }

Task<> Journal::drained() {
    if (!writer_) co_return;
    flush();
    co_await writer_->drained();
}

} // namespace flux::shell
