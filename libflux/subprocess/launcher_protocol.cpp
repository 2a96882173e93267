#include <flux/launcher_protocol.hpp>

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace flux::launcher_protocol {
namespace {

struct Header {
    std::uint16_t operation;
    std::uint16_t flags;
    std::uint32_t reserved;
    std::uint64_t id;
};
constexpr std::uint16_t flag_memfd = 1; // the body is in the last descriptor

FileDescriptor make_memfd(std::string_view body) noexcept {
    FileDescriptor fd(::memfd_create("flux-launcher", MFD_CLOEXEC));
    while (fd && !body.empty()) {
        ssize_t size = ::write(fd.get(), body.data(), body.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return FileDescriptor();
        body.remove_prefix(static_cast<std::size_t>(size));
    }
    return fd;
}

int read_memfd(int fd, std::string& body) noexcept {
    struct stat info;
    if (::fstat(fd, &info) < 0) return errno;
    if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) > max_body) return EPROTO;
    body.resize(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    while (done < body.size()) {
        ssize_t size = ::pread(fd, body.data() + done, body.size() - done, static_cast<off_t>(done));
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return EPROTO;
        done += static_cast<std::size_t>(size);
    }
    return 0;
}

void put_streams(BodyWriter& writer, const std::vector<StreamKind>& streams) {
    writer.u32(static_cast<std::uint32_t>(streams.size()));
    for (auto kind : streams) writer.u32(static_cast<std::uint32_t>(kind));
}

bool get_streams(BodyReader& reader, std::vector<StreamKind>& streams) {
    auto count = reader.u32();
    if (count > max_fds) return false;
    streams.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
        auto kind = reader.u32();
        if (kind > static_cast<std::uint32_t>(StreamKind::channel)) return false;
        streams.push_back(static_cast<StreamKind>(kind));
    }
    return reader.ok();
}

} // namespace

int open_ends(StreamKind kind, FileDescriptor& ours, FileDescriptor& childs) noexcept {
    int fds[2];
    int rc = kind == StreamKind::channel ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)
                                         : ::pipe2(fds, O_CLOEXEC);
    if (rc < 0) return errno;
    bool child_reads = kind == StreamKind::input;
    ours.reset(fds[child_reads ? 1 : 0]);
    childs.reset(fds[child_reads ? 0 : 1]);
    return 0;
}

int send_packet(int socket, const Packet& packet) noexcept {
    if (packet.body.size() > max_body || packet.fds.size() > max_fds) return EMSGSIZE;
    Header header{static_cast<std::uint16_t>(packet.operation), 0, 0, packet.id};
    int fds[max_fds + 1];
    std::size_t count = 0;
    for (const auto& fd : packet.fds) fds[count++] = fd.get();
    FileDescriptor memfd;
    if (packet.body.size() > max_inline_body) {
        memfd = make_memfd(packet.body);
        if (!memfd) return errno;
        header.flags |= flag_memfd;
        fds[count++] = memfd.get();
    }
    iovec parts[2] = {{&header, sizeof header}, {const_cast<char*>(packet.body.data()), packet.body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = memfd ? 1 : 2;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)];
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        auto* part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(count * sizeof(int));
        std::memcpy(CMSG_DATA(part), fds, count * sizeof(int));
    }
    for (;;) {
        if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
        if (errno != EINTR) return errno;
    }
}

int receive_packet(int socket, Packet& packet) noexcept {
    Header header{};
    packet.fds.clear();
    packet.body.resize(max_inline_body);
    iovec parts[2] = {{&header, sizeof header}, {packet.body.data(), packet.body.size()}};
    alignas(cmsghdr) char control[CMSG_SPACE((max_fds + 1) * sizeof(int))];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t size;
    do {
        size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size < 0) return errno;
    // Descriptors that arrived are owned before anything can be wrong.
    for (auto* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
            packet.fds.emplace_back(fd);
        }
    }
    if (size == 0) return ECONNRESET;
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || static_cast<std::size_t>(size) < sizeof header) return EPROTO;
    packet.operation = static_cast<Operation>(header.operation);
    packet.id = header.id;
    packet.body.resize(static_cast<std::size_t>(size) - sizeof header);
    if (!(header.flags & flag_memfd)) return 0;
    if (packet.fds.empty()) return EPROTO;
    auto memfd = std::move(packet.fds.back());
    packet.fds.pop_back();
    return read_memfd(memfd.get(), packet.body);
}

std::string StartBody::encode() const {
    BodyWriter writer;
    writer.u32(flags).text(label).text(cwd).text(fallback_cwd).texts(argv).texts(env);
    put_streams(writer, streams);
    writer.text(note);
    return writer.take();
}

bool StartBody::decode(std::string_view body) {
    BodyReader reader(body);
    flags = reader.u32();
    label = reader.text();
    cwd = reader.text();
    fallback_cwd = reader.text();
    argv = reader.texts();
    env = reader.texts();
    if (!get_streams(reader, streams)) return false;
    note = reader.text();
    return reader.ok();
}

std::string ProcessBody::encode() const {
    BodyWriter writer;
    writer.u32(flags).u32(pid).u64(start_time).u32(static_cast<std::uint32_t>(state)).u32(status);
    writer.text(label).text(note);
    put_streams(writer, streams);
    return writer.take();
}

bool ProcessBody::decode(std::string_view body) {
    BodyReader reader(body);
    flags = reader.u32();
    pid = reader.u32();
    start_time = reader.u64();
    auto raw_state = reader.u32();
    state = raw_state == 0 ? ProcessState::running : ProcessState::ended;
    status = reader.u32();
    label = reader.text();
    note = reader.text();
    return get_streams(reader, streams) && reader.ok();
}

} // namespace flux::launcher_protocol
