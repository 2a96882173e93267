// Requests that went to somebody who may vanish: a peer broker, a module process, a client with a service. When it
// does, each is answered, or sent again to who takes its place.
#pragma once

#include <flux/message.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

namespace flux::broker {

class RpcTracker {
public:
    class Pending {
    public:
        Pending(Message request, bool whole, std::uint64_t number)
            : request(std::move(request)), whole(whole), number(number) {}
        Message request;        ///< without its payload, unless `whole`
        bool whole;             ///< it may be sent again: nothing of its answer was seen
        bool answering = false; ///< a part of its answer was seen
        std::uint64_t number;
    };

    /// \param keep  the whole request, to send it again.
    void sent(const Message& request, bool keep = false) {
        if (request.noresponse() && request.topic.ends_with(".disconnect")) forget_sender(request.sender());
        if (request.noresponse() || request.untagged()) return;
        Pending pending(request, keep, ++count_);
        pending.request.charge = {};
        if (!keep) pending.request.payload = {};
        pending_.insert_or_assign(key(request), std::move(pending));
    }
    /// \return false for an answer that nobody waits for any more.
    bool answered(const Message& response) {
        if (response.untagged()) return true;
        auto found = pending_.find(key(response));
        if (found == pending_.end()) return false;
        if (response.streaming() && response.errnum() == 0) {
            found->second.answering = true;
            found->second.whole = false;
            found->second.request.payload = {};
        } else {
            pending_.erase(found);
        }
        return true;
    }
    std::size_t size() const noexcept { return pending_.size(); }
    /// All of them, in the order in which they were sent.
    std::vector<Pending> take_all() {
        return take_if([](const Pending&) { return true; });
    }
    template <class F> std::vector<Pending> take_if(F&& matches) {
        std::vector<Pending> taken;
        std::erase_if(pending_, [&](auto& entry) {
            if (!matches(std::as_const(entry.second))) return false;
            taken.push_back(std::move(entry.second));
            return true;
        });
        std::sort(taken.begin(), taken.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
        return taken;
    }

private:
    // A requester is gone: its requests need no answer.
    void forget_sender(std::string_view sender) {
        std::erase_if(pending_, [&](const auto& entry) { return entry.second.request.sender() == sender; });
    }
    static std::string key(const Message& message) { return message.routes.key() + std::to_string(message.matchtag()); }
    std::unordered_map<std::string, Pending> pending_;
    std::uint64_t count_ = 0;
};

} // namespace flux::broker
