// The scheduler's view (RFC 28): what there is, then what changes in it.
#pragma once

#include "state.hpp"

#include <flux/handle.hpp>

namespace flux::resource {

class Acquire {
public:
    bool active() const noexcept { return request_ && !request_.answered(); }
    /// The one client. Its first answer comes when R is known. \throws Error EBUSY
    void open(Request request, const State& state);
    /// Tell what has changed.
    void update(const State& state);
    /// Tell nothing any more.
    void mute() noexcept { muted_ = true; }
    void cancel(const Request& request);
    void disconnect(const Request& request);
    /// R cannot be had.
    void fail(const Error& error);

    bool is(const Request& request) const {
        return request_ && request_.matchtag() == request.matchtag() && request_.same_sender(request);
    }
    /// What the client knows, for another instance.
    Json cursor() const;
    /// Go on for a client of an earlier instance. It begins anew when there are other resources now.
    void resume(Request request, JsonView cursor, const State& state);

private:
    void answer(const State& state);
    void go_on(const State& state);

    Request request_;
    bool answered_ = false;
    bool muted_ = false;
    bool resumed_ = false; // what follows is what an earlier instance has told
    Idset given_;          // ranks that the client has
    Idset up_;             // of these, as it knows
    double expiration_ = 0;
};

} // namespace flux::resource
