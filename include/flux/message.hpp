// A Flux message (RFC 3): header, route stack, topic, payload; and its encoding on a byte stream.
#pragma once

#include <flux/flow.hpp>
#include <flux/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flux {

enum class MessageType : std::uint8_t { request = 0x01, response = 0x02, event = 0x04, control = 0x08 };

/// Bits of the header's flags byte.
enum MessageFlag : std::uint8_t {
    flag_topic = 0x01,
    flag_payload = 0x02,
    flag_noresponse = 0x04,
    flag_route = 0x08,
    flag_upstream = 0x10,
    flag_private = 0x20,
    flag_streaming = 0x40,
    flag_user1 = 0x80,
};

inline constexpr std::uint32_t nodeid_any = 0xFFFFFFFF;
inline constexpr std::uint32_t matchtag_none = 0;
inline constexpr std::uint32_t userid_unknown = 0xFFFFFFFF;

/// Roles of whoever sent a message, a bit mask.
enum Role : std::uint32_t {
    role_none = 0,
    role_owner = 1,
    role_user = 2,
    role_local = 4,
    role_admin = 8,
    role_all = 0xFFFFFFFF,
};

struct Credentials {
    std::uint32_t userid = userid_unknown;
    std::uint32_t rolemask = role_none;
    bool operator==(const Credentials&) const = default;
    bool owner() const noexcept { return rolemask & role_owner; }
    /// Owner, or a user who is `userid`: the rule of services that act for a user.
    bool may_act_for(std::uint32_t user) const noexcept {
        return owner() || ((rolemask & role_user) && userid != userid_unknown && userid == user);
    }
};

/// Who a message passed on its way: the originator first pushed, the last hop on top.
class RouteStack {
public:
    void push(std::string_view id);
    void pop() noexcept;
    void clear() noexcept { data_.clear(), depth_ = 0; }
    bool empty() const noexcept { return depth_ == 0; }
    std::size_t depth() const noexcept { return depth_; }
    /// Last hop; empty when there is none.
    std::string_view top() const noexcept;
    /// Originator; empty when there is none.
    std::string_view bottom() const noexcept;
    /// Calls `visit(id)` from the top down.
    template <class F> void for_each(F&& visit) const {
        std::size_t end = data_.size();
        while (end > 0) {
            auto id = entry(end);
            visit(id);
            end -= id.size() + sizeof(std::uint32_t);
        }
    }
    /// The whole stack as one comparable value.
    const std::string& key() const noexcept { return data_; }
    /// Ids from the originator up, each cut to 8 characters, joined by `!`.
    std::string describe() const;

private:
    std::string_view entry(std::size_t end) const noexcept;
    std::string data_; // each id followed by its length: push and pop work at the end
    std::uint32_t depth_ = 0;
};

/// Immutable bytes, JSON or both, shared by messages and between threads.
class Payload {
public:
    Payload() = default;
    Payload(const Payload& other) noexcept;
    Payload(Payload&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    Payload& operator=(Payload other) noexcept {
        std::swap(data_, other.data_);
        return *this;
    }
    ~Payload();
    /// Freeze a JSON value; it is encoded when it first crosses a socket.
    static Payload from_json(Json value);
    /// Bytes as they go on the wire (a JSON or string payload with its trailing NUL). Empty bytes are no payload.
    static Payload from_bytes(std::string bytes);
    /// A string payload: the text and a NUL.
    static Payload from_text(std::string_view text);

    explicit operator bool() const noexcept { return data_ != nullptr; }
    /// The bytes as on the wire, trailing NUL included; valid as long as this payload or a copy of it.
    std::string_view bytes() const;
    /// The text without its NUL. \throws Error EPROTO when there is none or no NUL.
    std::string_view text() const;
    /// The JSON object. Parsed at first use. \throws Error EPROTO when it is no JSON object.
    JsonView json() const;
    /// About how many bytes it takes, without encoding it for that.
    std::size_t weight() const noexcept;

private:
    struct Data;
    Data* data_ = nullptr;
};

/// One message. Moving is cheap; copying shares the payload. Plain data: no thread rules but the usual ones.
class Message {
public:
    Message() = default;
    static Message request(std::string_view topic);
    /// A response to `request`: same topic, route, matchtag, streaming flag; success, no payload.
    static Message response(const Message& request);
    static Message response_error(const Message& request, int errnum, std::string_view text = {});
    static Message event(std::string_view topic);
    static Message control(std::uint32_t type, std::uint32_t status);

    MessageType type = MessageType::request;
    std::uint8_t flags = 0; ///< topic and payload bits are set by the codec
    Credentials credentials;
    std::uint32_t aux1 = 0; ///< request: nodeid; response: errnum; event: sequence; control: type
    std::uint32_t aux2 = 0; ///< request, response: matchtag; control: status
    RouteStack routes;      ///< meaningful with flag_route
    std::string topic;
    Payload payload;
    Charge charge; ///< what it counts in its sender's stream as long as it is under way; does not cross a socket

    std::uint32_t nodeid() const noexcept { return aux1; }
    std::uint32_t matchtag() const noexcept { return aux2; }
    int errnum() const noexcept { return static_cast<int>(aux1); }
    std::uint32_t sequence() const noexcept { return aux1; }

    bool has(MessageFlag flag) const noexcept { return flags & flag; }
    void set(MessageFlag flag, bool on = true) noexcept {
        flags = static_cast<std::uint8_t>(on ? flags | flag : flags & ~flag);
    }
    bool noresponse() const noexcept { return has(flag_noresponse); }
    bool streaming() const noexcept { return has(flag_streaming); }
    /// A request whose answers carry no matchtag: its protocol tells them apart, and starts over when one end restarts.
    bool untagged() const noexcept { return aux2 == matchtag_none; }

    /// Push an id, setting the route flag.
    void push_route(std::string_view id);
    /// Originator of a request (first pushed id); empty for the endpoint itself.
    std::string_view sender() const noexcept { return routes.bottom(); }

    /// The payload's JSON object; nothing when there is no payload. \throws Error EPROTO when it is something else.
    JsonView json() const;
    /// Error text of a failed response, or the system's words for its errnum.
    std::string error_text() const;
    /// Throws the Error of a failed response.
    void throw_if_failed() const;

    /// First word of the topic: the service it goes to.
    std::string_view service() const noexcept { return std::string_view(topic).substr(0, topic.find('.')); }
    /// What follows the first word; empty when there is none.
    std::string_view method() const noexcept {
        auto dot = topic.find('.');
        return dot == std::string::npos ? std::string_view() : std::string_view(topic).substr(dot + 1);
    }
};

/// Append `message` to `out` as a frame: magic, size, parts (broker.md 1.3).
void encode_frame(const Message& message, std::string& out);
/// The same in three: append what comes before the bytes of the payload, and what comes after them.
void encode_frame_around(const Message& message, std::string& before, std::string& after);
/// The body of a frame: the parts without the preamble.
std::string encode_body(const Message& message);
/// Decode a body. \throws Error EPROTO or EINVAL naming what is wrong.
Message decode_body(std::string_view body);

/// Cuts a byte stream into messages.
class FrameDecoder {
public:
    /// Bodies above this are refused: more than any value the KVS takes, base64 and all.
    static constexpr std::size_t max_body = std::size_t(1) << 31;

    /// Add bytes as they come.
    void feed(std::string_view bytes);
    /// The next complete message, if any. \throws Error EPROTO on a malformed stream, which is then beyond use.
    std::optional<Message> next();
    /// Bytes fed and not yet decoded.
    std::size_t pending() const noexcept { return buffer_.size() - offset_; }

private:
    std::string buffer_;
    std::size_t offset_ = 0;
};

} // namespace flux
