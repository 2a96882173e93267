// The events that a shell writes to the eventlogs of its job. What is appended within one turn of the loop is committed
// together, unless it is much; a commit begins when the one before is done. Without a broker (standalone) nothing is
// kept.
#pragma once

#include <flux/eventlog.hpp>
#include <flux/kvs_writer.hpp>

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace flux::shell {

class Journal {
public:
    /// \param on_failure  told once why events could not be written.
    Journal(Loop& loop, std::function<void(const Error&)> on_failure)
        : loop_(loop), on_failure_(std::move(on_failure)) {}

    /// Write to this namespace.
    void open(Handle& handle, std::string_view name_space);
    /// Go on over another connection.
    void attach(Handle& handle);

    void append(std::string_view key, const EventlogEntry& event);
    /// Bytes not yet committed.
    std::size_t bytes() const noexcept;
    /// Call back once when few bytes are left.
    void when_low(std::function<void()> callback);
    /// Wait until everything is committed, or could not be.
    Task<> drained();

private:
    void flush();
    void committed(const Error* failure);

    Loop& loop_;
    std::function<void(const Error&)> on_failure_;
    std::optional<kvs::Writer> writer_;
    kvs::Transaction pending_;
    bool flush_posted_ = false;
    std::vector<std::function<void()>> low_callbacks_;
};

} // namespace flux::shell
