// The byte form of messages: broker.md 1.1 to 1.3. Decoding is bounded by the bytes at hand; nothing is allocated on
// the word of a length field.
#include <flux/message.hpp>

#include <cerrno>
#include <cstring>
#include <endian.h>
#include <vector>

namespace flux {
namespace {

constexpr std::uint32_t frame_magic = 0xFFEE0012; // host byte order on the wire
constexpr std::size_t preamble_size = 8;
constexpr std::size_t header_size = 20;
constexpr unsigned char header_magic = 0x8E;
constexpr unsigned char header_version = 0x01;

void append_be32(std::string& out, std::uint32_t value) {
    value = htobe32(value);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t read_be32(const char* at) noexcept {
    std::uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return be32toh(value);
}

void append_part_size(std::string& out, std::size_t size) {
    if (size < 255) {
        out.push_back(static_cast<char>(size));
    } else {
        out.push_back(static_cast<char>(0xFF));
        append_be32(out, static_cast<std::uint32_t>(size));
    }
}

void append_part(std::string& out, std::string_view part) {
    append_part_size(out, part.size());
    out.append(part);
}

unsigned flags_of(const Message& message) {
    unsigned flags = message.flags & ~(flag_topic | flag_payload);
    if (message.type != MessageType::control) flags |= flag_topic;
    if (!message.payload.bytes().empty()) flags |= flag_payload;
    return flags;
}

// What comes before the bytes of the payload.
void append_front(const Message& message, std::string& out) {
    auto flags = flags_of(message);
    if (flags & flag_route) {
        message.routes.for_each([&](std::string_view id) { append_part(out, id); });
        append_part(out, {});
    }
    if (flags & flag_topic) append_part(out, message.topic);
    if (flags & flag_payload) append_part_size(out, message.payload.bytes().size());
}

// What comes after them: the header.
void append_back(const Message& message, std::string& out) {
    auto flags = flags_of(message);
    std::string header{static_cast<char>(header_magic), static_cast<char>(header_version),
                       static_cast<char>(message.type), static_cast<char>(flags)};
    append_be32(header, message.credentials.userid);
    append_be32(header, message.credentials.rolemask);
    append_be32(header, message.aux1);
    append_be32(header, message.aux2);
    append_part(out, header);
}

// In place of the length of a frame, which is known when it is there.
void set_frame_size(std::string& out, std::size_t start, std::size_t size) {
    auto encoded = htobe32(static_cast<std::uint32_t>(size));
    std::memcpy(out.data() + start + sizeof frame_magic, &encoded, sizeof encoded);
}

void append_preamble(std::string& out) {
    out.append(reinterpret_cast<const char*>(&frame_magic), sizeof frame_magic);
    append_be32(out, 0);
}

/// Cuts the parts of a body, first to last.
class Parts {
public:
    explicit Parts(std::string_view body) : rest_(body) {}
    bool empty() const noexcept { return rest_.empty(); }
    std::string_view next() {
        std::size_t size = static_cast<unsigned char>(rest_.front());
        std::size_t prefix = 1;
        if (size == 255) {
            if (rest_.size() < 5) throw Error(EINVAL, "message part: size is cut off");
            size = read_be32(rest_.data() + 1);
            prefix = 5;
        }
        if (rest_.size() - prefix < size) throw Error(EINVAL, "message part: longer than the message");
        auto part = rest_.substr(prefix, size);
        rest_.remove_prefix(prefix + size);
        return part;
    }

private:
    std::string_view rest_;
};

/// The name that a part holds, with or without a NUL after it.
std::string_view name_in(std::string_view part) {
    if (part.ends_with('\0')) part.remove_suffix(1);
    if (part.find('\0') != part.npos) throw Error(EPROTO, "message topic or route: NUL within the name");
    return part;
}

} // namespace

std::string encode_body(const Message& message) {
    std::string out;
    append_front(message, out);
    out.append(message.payload.bytes());
    append_back(message, out);
    return out;
}

void encode_frame(const Message& message, std::string& out) {
    auto start = out.size();
    append_preamble(out);
    append_front(message, out);
    out.append(message.payload.bytes());
    append_back(message, out);
    set_frame_size(out, start, out.size() - start - preamble_size);
}

void encode_frame_around(const Message& message, std::string& before, std::string& after) {
    auto start = before.size(), end = after.size();
    append_preamble(before);
    append_front(message, before);
    append_back(message, after);
    auto size = before.size() - start - preamble_size + message.payload.bytes().size() + after.size() - end;
    set_frame_size(before, start, size);
}

Message decode_body(std::string_view body) {
    // The header is the last part, and always short: it can be found without walking.
    if (body.size() < header_size + 1 || static_cast<unsigned char>(body[body.size() - header_size - 1]) != header_size)
        throw Error(EPROTO, "message has no header part");
    const char* header = body.data() + body.size() - header_size;
    auto byte = [&](int at) { return static_cast<unsigned char>(header[at]); };
    if (byte(0) != header_magic) throw Error(EPROTO, "message header: wrong magic");
    if (byte(1) != header_version) throw Error(EPROTO, "message header: unknown version");

    Message message;
    switch (byte(2)) {
    case 0x01: message.type = MessageType::request; break;
    case 0x02: message.type = MessageType::response; break;
    case 0x04: message.type = MessageType::event; break;
    case 0x08: message.type = MessageType::control; break;
    default: throw Error(EPROTO, "message header: unknown message type");
    }
    unsigned flags = byte(3);
    if ((flags & flag_noresponse) && (flags & flag_streaming))
        throw Error(EPROTO, "message header: noresponse and streaming together");
    message.credentials.userid = read_be32(header + 4);
    message.credentials.rolemask = read_be32(header + 8);
    message.aux1 = read_be32(header + 12);
    message.aux2 = read_be32(header + 16);
    message.flags = static_cast<std::uint8_t>(flags & ~(flag_topic | flag_payload));

    Parts parts(body.substr(0, body.size() - header_size - 1));
    auto require = [&](const char* what) {
        if (parts.empty()) throw Error(EPROTO, std::string("message has no ") + what + " part");
        return parts.next();
    };
    if (flags & flag_route) {
        std::vector<std::string_view> ids; // the wire has the top first
        for (auto id = require("route delimiter"); !id.empty(); id = require("route delimiter")) {
            ids.push_back(name_in(id));
            if (ids.back().empty()) throw Error(EPROTO, "message route: empty id");
        }
        for (auto id = ids.rbegin(); id != ids.rend(); ++id) message.routes.push(*id);
    }
    if (flags & flag_topic) {
        message.topic = name_in(require("topic"));
    } else if (message.type != MessageType::control) {
        throw Error(EPROTO, "message has no topic part");
    }
    if (flags & flag_payload) message.payload = Payload::from_bytes(std::string(require("payload")));
    if (!parts.empty()) throw Error(EPROTO, "message has parts that its flags do not announce");
    return message;
}

void FrameDecoder::feed(std::string_view bytes) {
    if (offset_ > 0 && (offset_ == buffer_.size() || offset_ > 65536)) {
        buffer_.erase(0, offset_);
        offset_ = 0;
        if (buffer_.empty() && buffer_.capacity() > (std::size_t(1) << 20)) buffer_.shrink_to_fit();
    }
    buffer_.append(bytes);
}

std::optional<Message> FrameDecoder::next() {
    if (pending() < preamble_size) return std::nullopt;
    const char* at = buffer_.data() + offset_;
    std::uint32_t magic;
    std::memcpy(&magic, at, sizeof magic);
    if (magic != frame_magic) throw Error(EPROTO, "message frame: wrong magic");
    std::size_t size = read_be32(at + sizeof magic);
    if (size > max_body) throw Error(EPROTO, "message frame: larger than 2 GiB");
    if (pending() - preamble_size < size) return std::nullopt;
    auto message = decode_body(std::string_view(at + preamble_size, size));
    offset_ += preamble_size + size;
    return message;
}

} // namespace flux
