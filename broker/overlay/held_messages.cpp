#include "broker/overlay/held_messages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace flux::broker {
namespace {

// Told anew when the parent is back, or kept elsewhere.
constexpr std::array<std::string_view, 2> never_held{"groups.update", "log.append"};

std::optional<std::uint32_t> cancelled_tag(const Message& request) {
    try {
        return request.json()["matchtag"].try_as<std::uint32_t>();
    } catch (const Error&) {
        return std::nullopt; // whose payload means nothing cancels nothing
    }
}

} // namespace

HeldMessages::Entry::Entry(Message held)
    : message(std::move(held)),
      bytes(sizeof message + message.topic.size() + message.routes.key().size() + message.payload.weight()) {}

void HeldMessages::add(Message message) {
    if (message.type == MessageType::event) return push(std::move(message));
    if (message.type != MessageType::request) return;
    if (message.noresponse()) {
        if (message.method().ends_with("disconnect")) return withdraw_sender(message.sender());
        if (message.method().ends_with("cancel") && cancel(message)) return;
        if (std::find(never_held.begin(), never_held.end(), message.topic) != never_held.end()) return;
    } else if (message.untagged()) {
        return;
    }
    push(std::move(message));
}

void HeldMessages::push(Message message) {
    Entry entry(std::move(message));
    if (bytes_ + entry.bytes > limit_) {
        const auto& request = entry.message;
        if (request.type == MessageType::request)
            fail_(request, EAGAIN, fmt::format("{}: too much waits for the parent already", request.topic));
        return;
    }
    bytes_ += entry.bytes;
    entries_.push_back(std::move(entry));
}

void HeldMessages::put_back(std::vector<Message> requests) {
    auto front = entries_.begin();
    for (auto& request : requests) bytes_ += entries_.emplace(front, std::move(request))->bytes;
}

void HeldMessages::withdraw_sender(std::string_view sender) {
    entries_.remove_if([&](const Entry& entry) {
        if (entry.message.sender() != sender) return false;
        bytes_ -= entry.bytes;
        return true;
    });
}

bool HeldMessages::cancel(const Message& request) {
    auto matchtag = cancelled_tag(request);
    if (!matchtag) return false;
    auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
        return other.message.matchtag() == *matchtag && other.message.sender() == request.sender();
    });
    if (entry == entries_.end()) return false;
    fail_(entry->message, ENODATA, {});
    bytes_ -= entry->bytes;
    entries_.erase(entry);
    return true;
}

std::vector<Message> HeldMessages::take_all() {
    std::vector<Message> all;
    for (auto& entry : entries_) all.push_back(std::move(entry.message));
    entries_.clear();
    bytes_ = 0;
    return all;
}

void HeldMessages::fail_all(int errnum, const std::string& text) {
    for (const auto& message : take_all()) {
        if (message.type == MessageType::request) fail_(message, errnum, text);
    }
}

} // namespace flux::broker
