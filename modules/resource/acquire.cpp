#include "acquire.hpp"

#include <cerrno>

namespace flux::resource {

void Acquire::open(Request request, const State& state) {
    request.require_streaming();
    if (active()) throw Error(EBUSY, "there is a scheduler already");
    request_ = std::move(request);
    answered_ = resumed_ = muted_ = false;
    update(state);
}

void Acquire::answer(const State& state) {
    auto resources = state.R();
    resources.remove_ranks(state.hidden());
    given_ = resources.ranks();
    up_ = state.up();
    expiration_ = resources.expiration;
    answered_ = true;
    request_.respond(Json::object("resources", resources.encode(), "up", up_.encode()));
}

void Acquire::update(const State& state) {
    if (!active() || !state.defined()) return;
    if (resumed_) return go_on(state);
    if (muted_) return;
    if (!answered_) return answer(state);
    auto change = Json::object();
    auto shrink = given_ & state.lost();
    given_ -= shrink;
    auto now = state.up() & given_;
    if (auto up = now - up_; !up.empty()) change.set("up", up.encode());
    if (auto down = (up_ - now) | shrink; !down.empty()) change.set("down", down.encode());
    if (!shrink.empty()) change.set("shrink", shrink.encode());
    if (state.R().expiration != expiration_) change.set("expiration", state.R().expiration);
    up_ = std::move(now);
    expiration_ = state.R().expiration;
    if (!change.empty()) request_.respond(std::move(change));
}

void Acquire::cancel(const Request& request) {
    auto matchtag = request.json().get<std::uint32_t>("matchtag");
    if (active() && request_.matchtag() == matchtag && request_.same_sender(request)) fail(Error(ECANCELED));
}

void Acquire::disconnect(const Request& request) {
    if (!active() || !request_.same_sender(request)) return;
    request_.drop();
    request_ = Request();
}

void Acquire::fail(const Error& error) {
    if (active()) request_.fail(error);
    request_ = Request();
}

Json Acquire::cursor() const {
    if (!answered_ && !resumed_) return Json::object();
    return Json::object("ranks", given_.encode(), "up", up_.encode(), "expiration", expiration_, "muted", muted_);
}

void Acquire::resume(Request request, JsonView cursor, const State& state) {
    resumed_ = cursor.contains("ranks");
    if (resumed_) {
        given_ = cursor.get<Idset>("ranks");
        up_ = cursor.get<Idset>("up");
        expiration_ = cursor.get<double>("expiration");
        muted_ = cursor.get<bool>("muted");
    }
    request_ = std::move(request);
    update(state);
}

void Acquire::go_on(const State& state) {
    resumed_ = false;
    if (!(state.R().ranks() - state.exclude()).includes(given_))
        return fail(Error(ECONNRESET, "resources have changed"));
    answered_ = true;
    update(state);
}

} // namespace flux::resource
