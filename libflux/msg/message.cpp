#include <flux/message.hpp>

#include <jansson.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace flux {

// RouteStack ----------------------------------------------------------------------------------------------------

void RouteStack::push(std::string_view id) {
    auto size = static_cast<std::uint32_t>(id.size());
    data_.append(id);
    data_.append(reinterpret_cast<const char*>(&size), sizeof size);
    ++depth_;
}

std::string_view RouteStack::entry(std::size_t end) const noexcept {
    std::uint32_t size;
    std::memcpy(&size, data_.data() + end - sizeof size, sizeof size);
    return std::string_view(data_).substr(end - sizeof size - size, size);
}

std::string_view RouteStack::top() const noexcept { return data_.empty() ? std::string_view() : entry(data_.size()); }

std::string_view RouteStack::bottom() const noexcept {
    std::string_view last;
    for_each([&](std::string_view id) { last = id; });
    return last;
}

void RouteStack::pop() noexcept {
    if (data_.empty()) return;
    data_.resize(data_.size() - top().size() - sizeof(std::uint32_t));
    --depth_;
}

std::string RouteStack::describe() const {
    std::string text;
    for_each([&](std::string_view id) {
        std::string part(id.substr(0, 8));
        text = text.empty() ? part : part + "!" + text;
    });
    return text;
}

// Payload -------------------------------------------------------------------------------------------------------

// Either form is made from the other at first use, by whichever thread comes first; a loser of that race drops its own.
struct Payload::Data {
    std::atomic<std::uint32_t> references{1};
    std::atomic<json_t*> json{nullptr};
    std::atomic<const std::string*> bytes{nullptr};
    ~Data() {
        json_decref(json.load(std::memory_order_relaxed));
        delete bytes.load(std::memory_order_relaxed);
    }
};

Payload::Payload(const Payload& other) noexcept : data_(other.data_) {
    if (data_) data_->references.fetch_add(1, std::memory_order_relaxed);
}

Payload::~Payload() {
    if (data_ && data_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete data_;
}

Payload Payload::from_json(Json value) {
    Payload payload;
    payload.data_ = new Data;
    payload.data_->json.store(value.release(), std::memory_order_relaxed);
    return payload;
}

Payload Payload::from_bytes(std::string bytes) {
    Payload payload;
    if (bytes.empty()) return payload;
    payload.data_ = new Data;
    payload.data_->bytes.store(new std::string(std::move(bytes)), std::memory_order_relaxed);
    return payload;
}

Payload Payload::from_text(std::string_view text) {
    std::string bytes(text);
    bytes.push_back('\0');
    return from_bytes(std::move(bytes));
}

std::string_view Payload::bytes() const {
    if (!data_) return {};
    if (auto* ready = data_->bytes.load(std::memory_order_acquire)) return *ready;
    auto* made = new std::string(JsonView(data_->json.load(std::memory_order_acquire)).dump());
    made->push_back('\0');
    const std::string* expected = nullptr;
    if (data_->bytes.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *expected;
}

std::string_view Payload::text() const {
    auto all = bytes();
    if (all.empty()) throw Error(EPROTO, "message has no payload");
    if (all.back() != '\0') throw Error(EPROTO, "payload is not a NUL-terminated string");
    return all.substr(0, all.size() - 1);
}

JsonView Payload::json() const {
    if (!data_) throw Error(EPROTO, "message has no payload");
    json_t* ready = data_->json.load(std::memory_order_acquire);
    if (!ready) {
        auto parsed = Json::parse(text(), "payload");
        if (!parsed.is_object()) throw Error(EPROTO, "payload is not a JSON object");
        json_t* made = parsed.release();
        if (data_->json.compare_exchange_strong(ready, made, std::memory_order_acq_rel))
            ready = made;
        else
            json_decref(made);
    }
    return JsonView(ready);
}

namespace {

std::size_t weight_of(const json_t* value) noexcept {
    std::size_t sum = 8;
    if (json_is_string(value)) {
        sum += json_string_length(value);
    } else if (json_is_object(value)) {
        const char* key;
        json_t* member;
        json_object_foreach(const_cast<json_t*>(value), key, member) sum += std::strlen(key) + weight_of(member);
    } else {
        for (std::size_t i = 0; i < json_array_size(value); ++i) sum += weight_of(json_array_get(value, i));
    }
    return sum;
}

} // namespace

std::size_t Payload::weight() const noexcept {
    if (!data_) return 0;
    if (auto* ready = data_->bytes.load(std::memory_order_acquire)) return ready->size();
    return weight_of(data_->json.load(std::memory_order_acquire));
}

// Message -------------------------------------------------------------------------------------------------------

Message Message::request(std::string_view topic) {
    Message message;
    message.topic = topic;
    message.flags = flag_route;
    message.aux1 = nodeid_any;
    return message;
}

Message Message::response(const Message& request) {
    Message message;
    message.type = MessageType::response;
    message.topic = request.topic;
    message.flags = request.flags & (flag_route | flag_streaming | flag_upstream);
    message.routes = request.routes;
    message.aux2 = request.aux2;
    return message;
}

Message Message::response_error(const Message& request, int errnum, std::string_view text) {
    auto message = response(request);
    message.aux1 = static_cast<std::uint32_t>(errnum > 0 ? errnum : EINVAL);
    if (!text.empty()) message.payload = Payload::from_text(text);
    return message;
}

Message Message::event(std::string_view topic) {
    Message message;
    message.type = MessageType::event;
    message.topic = topic;
    return message;
}

Message Message::control(std::uint32_t type, std::uint32_t status) {
    Message message;
    message.type = MessageType::control;
    message.aux1 = type;
    message.aux2 = status;
    return message;
}

void Message::push_route(std::string_view id) {
    set(flag_route);
    routes.push(id);
}

JsonView Message::json() const { return payload ? payload.json() : JsonView(); }

std::string Message::error_text() const {
    if (payload) {
        auto bytes = payload.bytes();
        return std::string(bytes.substr(0, bytes.find('\0')));
    }
    return errno_text(errnum());
}

void Message::throw_if_failed() const {
    if (errnum() == 0) return;
    throw Error(errnum(), payload ? error_text() : std::string());
}

} // namespace flux
