#include "upstream.hpp"

#include "forward.hpp"

#include <flux/content_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux {

namespace protocol = content_protocol;

void Upstream::load(const Blobref& ref, std::function<void(const Message&)> done) {
    auto digest = Payload::from_bytes(std::string(ref.digest()));
    handle_.call(protocol::load.topic, std::move(digest), CallOptions().upstream()).then(std::move(done));
}

void Upstream::store(const Blobref& ref, const Request& request) {
    auto& waiting = storing_[ref];
    waiting.push_back(request);
    if (waiting.size() > 1) return;
    auto blob = request.message().payload;
    cache_.insert_dirty(ref, blob, std::chrono::steady_clock::now());
    handle_.call(protocol::store.topic, std::move(blob), CallOptions().upstream()).then([this, ref](Message response) {
        on_stored(ref, std::move(response));
    });
}

void Upstream::on_stored(const Blobref& ref, Message response) {
    auto node = storing_.extract(ref);
    if (!response.errnum() && response.payload.bytes() != ref.digest())
        response = Message::response_error(response, EIO, fmt::format("{} got another hash upstream", ref.to_string()));
    if (response.errnum()) {
        cache_.erase(ref);
        flush_result_ = response;
    } else {
        cache_.mark_clean(ref, std::chrono::steady_clock::now());
    }
    for (const auto& request : node.mapped()) forward(request, response);
    if (!storing_.empty()) return;
    auto result = std::exchange(flush_result_, {});
    for (auto& action : std::exchange(flushes_, {})) action(result);
}

void Upstream::when_flushed(std::function<void(const Message&)> action) {
    if (storing_.empty()) return action({});
    if (flushes_.empty()) flush_result_ = {};
    flushes_.push_back(std::move(action));
}

void Upstream::flush(const Request& request) {
    when_flushed([request](const Message& result) {
        if (result.errnum())
            forward(request, result);
        else
            request.respond();
    });
}

void Upstream::checkpoint_put(const Request& request) {
    when_flushed([this, request](const Message& result) {
        if (result.errnum()) return request.fail(result.errnum(), protocol::flush_error);
        auto put = handle_.call(protocol::checkpoint_put.topic, request.message().payload, CallOptions().upstream());
        std::move(put).then([request](const Message& response) { forward(request, response); });
    });
}

void Upstream::checkpoint_get(const Request& request) {
    handle_.call(protocol::checkpoint_get.topic, CallOptions().upstream()).then([request](const Message& response) {
        forward(request, response);
    });
}

} // namespace flux
