// TCP sockets of overlay links: names and addresses, listening, connecting without blocking the loop.
#pragma once

#include "broker/overlay/link/address.hpp"

#include <flux/file_descriptor.hpp>
#include <flux/task.hpp>

#include <chrono>
#include <string>

namespace flux::broker {

using Deadline = std::chrono::steady_clock::time_point;

/// Listen at a numeric address, at the first address of a network interface, or (`*`) at all addresses. Looks up no
/// names. \throws Error naming the address
FileDescriptor listen_tcp(const Address& address);
/// The port that a listening socket has.
std::uint16_t port_of(int fd);
/// `HOST:PORT` of the other end, in numbers.
std::string peer_name(int fd);
/// For an established link: no delays, and an end with ETIMEDOUT when the peer's kernel is silent for `silence`
/// (0: the system's limits).
void tune_tcp(int fd, std::chrono::milliseconds silence) noexcept;

/// A connection to the first address of the host that takes one; what time is left is shared out among those still to
/// be tried. \throws Error naming the address
Task<FileDescriptor> connect_tcp(Loop* loop, Address address, Deadline deadline);
/// Wait until a descriptor is ready in one of these directions (FdWatcher). False: the deadline passed first.
Task<bool> ready(Loop* loop, int fd, int directions, Deadline deadline);

} // namespace flux::broker
