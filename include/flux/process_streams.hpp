// The streams of one process, by name: stdin is written, stdout and stderr are read, a channel is both.
#pragma once

#include <flux/pipe.hpp>

#include <map>

namespace flux {

class ProcessStreams {
public:
    /// Data of a stream; an empty view is its end, told once.
    using OnOutput = std::function<void(const std::string& stream, std::string_view data)>;
    /// Bytes of a stream that the process (or the kernel for it) has taken.
    using OnConsumed = std::function<void(const std::string& stream, std::size_t bytes)>;

    ProcessStreams(Loop& loop, OnOutput on_output, OnConsumed on_consumed = {});
    ~ProcessStreams();
    ProcessStreams(const ProcessStreams&) = delete;
    ProcessStreams& operator=(const ProcessStreams&) = delete;

    void add_reader(const std::string& name, FileDescriptor fd, ReadMode mode, std::size_t limit = default_pipe_limit);
    void add_writer(const std::string& name, FileDescriptor fd, std::size_t limit = default_pipe_limit);
    /// Both on one socket.
    void add_channel(const std::string& name, FileDescriptor fd, ReadMode mode, std::size_t limit = default_pipe_limit);

    /// \throws Error EINVAL for an unknown stream or nothing to write, ENOSPC, EPIPE as PipeWriter.
    void write(const std::string& name, std::string_view data);
    /// End of stream. \throws Error EINVAL for an unknown stream.
    void close(const std::string& name);
    /// Stop and go on reading a stream. \throws Error EINVAL for an unknown stream.
    void pause(const std::string& name);
    void resume(const std::string& name);
    void pause_all() noexcept;
    void resume_all();
    /// Stop reading a stream for good; its end is not told.
    void drop_reader(const std::string& name);

    /// Nothing; when there is no such stream.
    PipeReader* reader(const std::string& name) const noexcept;
    PipeWriter* writer(const std::string& name) const noexcept;
    /// The end of every stream that is read was told.
    bool all_ended() const noexcept;

private:
    PipeReader& existing_reader(const std::string& name);
    PipeWriter& existing_writer(const std::string& name);

    Loop& loop_;
    OnOutput on_output_;
    OnConsumed on_consumed_;
    std::map<std::string, std::unique_ptr<PipeReader>> readers_;
    std::map<std::string, std::unique_ptr<PipeWriter>> writers_;
};

} // namespace flux
