// What flux-launcher and its client say to each other over a SOCK_SEQPACKET socket, one packet a message, in the byte
// order of the host. Used without libflux by the launcher.
//
// A launcher outlives brokers and their software: an operation is never changed. New fields go to the end of a body,
// and a reader ignores what it does not know there; new operations get new numbers.
#pragma once

#include <flux/file_descriptor.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace flux::launcher_protocol {

inline constexpr std::uint32_t version = 1;
/// A body up to this size goes in the packet, a larger one in a memfd passed with it.
inline constexpr std::size_t max_inline_body = 32 * 1024;
/// Larger than any arguments and environment that the kernel takes, and a note.
inline constexpr std::size_t max_body = 16 * 1024 * 1024;
inline constexpr std::size_t max_fds = 64;

/// Bodies are written as `name:type`; the id of the packet is the process it is about, chosen by the client.
enum class Operation : std::uint16_t {
    // From the client
    hello = 1,        ///< version:u32. The newest client is the only one. -> welcome
    start = 2,        ///< StartBody, with the descriptors of its `given` streams. -> started or failed
    kill = 3,         ///< signum:u32; to the process group if it leads one. -> killed
    close_stream = 4, ///< index:u32. Close our end that the launcher keeps.
    set_note = 5,     ///< note:text. Replace the note.
    forget = 6,       ///< The status is known: drop what is kept, now or when it ends.
    list = 7,         ///< -> process for each one, then listed
    terminate = 8,    ///< End every process (SIGTERM, SIGKILL after a grace), then the launcher.

    // From the launcher
    welcome = 101, ///< version:u32, pid:u32, next id:u64 (above every id ever used)
    started = 102, ///< pid:u32, start time:u64 (ns, wall clock), with our ends of its pipes and channels in order
    failed = 103,  ///< errnum:u32
    killed = 104,  ///< errnum:u32, 0: signalled
    stopped = 105, ///< signum:u32
    exited = 106,  ///< status:u32, as wait(2) gives it
    process = 107, ///< ProcessBody, with those of our ends that are still open
    listed = 108,
};

struct Packet {
    Operation operation{};
    std::uint64_t id = 0;
    std::string body;
    std::vector<FileDescriptor> fds;
};

/// \return 0 or an errno: EAGAIN when the socket takes nothing now, EMSGSIZE when the packet is beyond the bounds.
int send_packet(int socket, const Packet& packet) noexcept;
/// \return 0 or an errno: EAGAIN, ECONNRESET when the peer is gone, EPROTO when the packet is malformed.
int receive_packet(int socket, Packet& packet) noexcept;

class BodyWriter {
public:
    BodyWriter& u32(std::uint32_t value) { return raw(&value, sizeof value); }
    BodyWriter& u64(std::uint64_t value) { return raw(&value, sizeof value); }
    BodyWriter& text(std::string_view value) {
        u32(static_cast<std::uint32_t>(value.size()));
        return raw(value.data(), value.size());
    }
    BodyWriter& texts(const std::vector<std::string>& values) {
        u32(static_cast<std::uint32_t>(values.size()));
        for (const auto& value : values) text(value);
        return *this;
    }
    std::string take() { return std::move(bytes_); }

private:
    BodyWriter& raw(const void* data, std::size_t size) {
        bytes_.append(static_cast<const char*>(data), size);
        return *this;
    }
    std::string bytes_;
};

/// Reads past the end give zeros and empty texts, and ok() is false from then on.
class BodyReader {
public:
    explicit BodyReader(std::string_view bytes) : bytes_(bytes) {}
    bool ok() const noexcept { return ok_; }
    std::uint32_t u32() noexcept { return number<std::uint32_t>(); }
    std::uint64_t u64() noexcept { return number<std::uint64_t>(); }
    std::string_view text() noexcept { return take(u32()); }
    std::vector<std::string> texts() {
        std::vector<std::string> values;
        auto count = u32();
        // Each takes at least its length: a false count cannot make us reserve more than we were sent.
        if (count > bytes_.size() / sizeof count) ok_ = false;
        if (ok_) values.reserve(count);
        for (std::uint32_t i = 0; i < count && ok_; ++i) values.emplace_back(text());
        return values;
    }

private:
    std::string_view take(std::size_t size) noexcept {
        if (!ok_ || size > bytes_.size()) {
            ok_ = false;
            return {};
        }
        auto result = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return result;
    }
    template <class T> T number() noexcept {
        T value = 0;
        if (auto bytes = take(sizeof value); !bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    std::string_view bytes_;
    bool ok_ = true;
};

/// Where a descriptor of the child leads.
enum class StreamKind : std::uint32_t {
    null = 0,    ///< /dev/null
    given = 1,   ///< a descriptor that came with the packet; the launcher does not keep it
    input = 2,   ///< a pipe that the child reads
    output = 3,  ///< a pipe that the child writes
    channel = 4, ///< a socketpair
};
/// The launcher keeps our end of these.
inline constexpr bool has_our_end(StreamKind kind) noexcept { return kind >= StreamKind::input; }

/// Make the pipe or socketpair of a stream. \return 0 or an errno.
int open_ends(StreamKind kind, FileDescriptor& ours, FileDescriptor& childs) noexcept;

enum StartFlag : std::uint32_t {
    process_group = 1, ///< the child leads a process group
    keep_status = 2,   ///< keep the status however long no client comes
};

struct StartBody {
    std::uint32_t flags = 0;
    std::string label;
    std::string cwd;
    std::string fallback_cwd;
    std::vector<std::string> argv;
    std::vector<std::string> env;
    std::vector<StreamKind> streams; ///< the position is the child's descriptor
    std::string note;                ///< whatever the client wants to find again

    std::string encode() const;
    /// False when the body is malformed.
    bool decode(std::string_view body);
};

enum class ProcessState : std::uint32_t { running = 0, ended = 1 };

struct ProcessBody {
    std::uint32_t flags = 0;
    std::uint32_t pid = 0;
    std::uint64_t start_time = 0;
    ProcessState state{};
    std::uint32_t status = 0;
    std::string label;
    std::string note;
    std::vector<StreamKind> streams; ///< `null` where our end is closed

    std::string encode() const;
    bool decode(std::string_view body);
};

} // namespace flux::launcher_protocol
