// What the frames of a connection are sent as: between libflux and the broker, whose links to peers are encrypted.
#pragma once

#include <flux/transport.hpp>

#include <memory>
#include <sys/types.h>

namespace flux {

/// A connected stream socket and what may lie between it and the frames, such as a cipher. Owns the descriptor.
class ByteStream {
public:
    /// As much is asked of receive() at once, so that one busy peer does not starve the loop.
    static constexpr std::size_t read_size = 64 * 1024;

    virtual ~ByteStream();
    /// To be watched for readiness.
    virtual int fd() const noexcept = 0;
    /// As recv(2) of a non-blocking socket, -1 and errno included. What the first call leaves inside does not wait for
    /// a second: that comes when the descriptor is readable again. \throws Error for a failure that errno does not tell
    virtual ssize_t receive(char* into, std::size_t size) = 0;
    /// As send(2) of a non-blocking socket. After EAGAIN the next call begins with the same bytes. \throws Error
    virtual ssize_t send(const char* bytes, std::size_t size) = 0;
};

/// Frames over a stream, as SocketTransport has them over a bare socket.
std::unique_ptr<Transport> make_transport(Loop& loop, std::unique_ptr<ByteStream> stream);

} // namespace flux
