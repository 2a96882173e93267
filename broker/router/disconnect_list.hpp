// Which services a requester has talked to, so that they can be told when it goes (broker.md 1.10).
#pragma once

#include <flux/message.hpp>

#include <set>
#include <string>
#include <tuple>

namespace flux::broker {

class DisconnectList {
public:
    void note(const Message& request) {
        if (request.noresponse()) return;
        auto dot = request.topic.rfind('.');
        seen_.emplace(dot == std::string::npos ? std::string() : request.topic.substr(0, dot), request.nodeid(),
                      request.has(flag_upstream));
    }
    /// Calls `send` with one noresponse request per service talked to, and forgets them.
    template <class F> void flush(const Credentials& credentials, F&& send) {
        for (const auto& [prefix, nodeid, upstream] : seen_) {
            auto request = Message::request(prefix.empty() ? "disconnect" : prefix + ".disconnect");
            request.set(flag_noresponse);
            request.set(flag_upstream, upstream);
            request.aux1 = nodeid;
            request.credentials = credentials;
            send(std::move(request));
        }
        seen_.clear();
    }

private:
    std::set<std::tuple<std::string, std::uint32_t, bool>> seen_;
};

} // namespace flux::broker
