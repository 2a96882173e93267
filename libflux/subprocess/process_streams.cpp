#include <flux/error.hpp>
#include <flux/process_streams.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>

namespace flux {

ProcessStreams::ProcessStreams(Loop& loop, OnOutput on_output, OnConsumed on_consumed)
    : loop_(loop), on_output_(std::move(on_output)), on_consumed_(std::move(on_consumed)) {}

ProcessStreams::~ProcessStreams() = default;

void ProcessStreams::add_reader(const std::string& name, FileDescriptor fd, ReadMode mode, std::size_t limit) {
    // The callback may destroy this object: it works on copies.
    auto on_data = [name, on_output = on_output_](std::string_view data) { on_output(name, data); };
    readers_[name] = std::make_unique<PipeReader>(loop_, std::move(fd), mode, std::move(on_data), limit);
}

void ProcessStreams::add_writer(const std::string& name, FileDescriptor fd, std::size_t limit) {
    std::function<void(std::size_t)> on_consumed;
    if (on_consumed_) on_consumed = [name, report = on_consumed_](std::size_t bytes) { report(name, bytes); };
    writers_[name] = std::make_unique<PipeWriter>(loop_, std::move(fd), std::move(on_consumed), limit);
}

void ProcessStreams::add_channel(const std::string& name, FileDescriptor fd, ReadMode mode, std::size_t limit) {
    FileDescriptor second(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3)); // a loop watches a descriptor once
    if (!second) throw Error(errno, "channel " + name);
    add_reader(name, std::move(fd), mode, limit);
    add_writer(name, std::move(second), limit);
}

void ProcessStreams::write(const std::string& name, std::string_view data) {
    auto& writer = existing_writer(name);
    if (data.empty()) throw Error(EINVAL, "stream " + name + ": nothing to write");
    try {
        writer.write(data);
    } catch (const Error& error) {
        throw error.while_doing("stream " + name);
    }
}

void ProcessStreams::close(const std::string& name) { existing_writer(name).close(); }
void ProcessStreams::pause(const std::string& name) { existing_reader(name).pause(); }
void ProcessStreams::resume(const std::string& name) { existing_reader(name).resume(); }

void ProcessStreams::pause_all() noexcept {
    for (auto& [name, reader] : readers_) reader->pause();
}

void ProcessStreams::resume_all() {
    for (auto& [name, reader] : readers_) reader->resume();
}

void ProcessStreams::drop_reader(const std::string& name) { readers_.erase(name); }

PipeReader* ProcessStreams::reader(const std::string& name) const noexcept {
    auto found = readers_.find(name);
    return found == readers_.end() ? nullptr : found->second.get();
}

PipeWriter* ProcessStreams::writer(const std::string& name) const noexcept {
    auto found = writers_.find(name);
    return found == writers_.end() ? nullptr : found->second.get();
}

bool ProcessStreams::all_ended() const noexcept {
    return std::ranges::all_of(readers_, [](const auto& entry) { return entry.second->ended(); });
}

PipeReader& ProcessStreams::existing_reader(const std::string& name) {
    if (auto* found = reader(name)) return *found;
    throw Error(EINVAL, "stream " + name + " is not read from");
}

PipeWriter& ProcessStreams::existing_writer(const std::string& name) {
    if (auto* found = writer(name)) return *found;
    throw Error(EINVAL, "stream " + name + " is not written to");
}

} // namespace flux
