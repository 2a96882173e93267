// Requests that went to somebody who may vanish: a peer broker, a module process, a client with a service. When it
// does, each is answered.
#pragma once

#include <flux/message.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace flux::broker {

class RpcTracker {
public:
    void sent(const Message& request) {
        if (request.noresponse() && request.topic.ends_with(".disconnect")) forget_sender(request.sender());
        if (request.noresponse() || request.matchtag() == matchtag_none) return;
        Message header = request;
        header.payload = {};
        pending_.insert_or_assign(key(request), std::move(header));
    }
    void answered(const Message& response) {
        if (response.streaming() && response.errnum() == 0) return;
        pending_.erase(key(response));
    }
    std::size_t size() const noexcept { return pending_.size(); }
    std::vector<Message> take_all() {
        std::vector<Message> all;
        for (auto& [key, request] : pending_) all.push_back(std::move(request));
        pending_.clear();
        return all;
    }

private:
    // A requester is gone: its requests need no answer.
    void forget_sender(std::string_view sender) {
        std::erase_if(pending_, [&](const auto& entry) { return entry.second.sender() == sender; });
    }
    static std::string key(const Message& message) { return message.routes.key() + std::to_string(message.matchtag()); }
    std::unordered_map<std::string, Message> pending_;
};

} // namespace flux::broker
