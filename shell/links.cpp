#include "links.hpp"

#include <cerrno>

namespace flux::shell {
namespace {

/// Messages that go together: enough to keep up with any producer, little enough to be one KVS commit of the leader.
constexpr std::size_t max_batch = 512;

} // namespace

void Links::open() {
    open_ = true;
    for (auto& [rank, peer] : peers_) start(rank, peer);
}

void Links::send(unsigned rank, std::string_view kind, Json payload) {
    auto& peer = peers_[rank];
    if (peer.lost) return;
    peer.queue.push_back(Json::array_of(kind, std::move(payload)));
    if (open_) start(rank, peer);
}

void Links::start(unsigned rank, Peer& peer) {
    if (peer.running || peer.queue.empty()) return;
    peer.running = true;
    host_.link_busy(true);
    host_.link_scope().spawn("link", &Links::run, this, rank);
}

// References to a peer stay good: the map only grows.
Task<> Links::run(Links* self, unsigned rank) {
    auto& peer = self->peers_[rank];
    while (!peer.queue.empty()) {
        auto messages = Json::array();
        for (; !peer.queue.empty() && peer.under_way < max_batch; ++peer.under_way) {
            messages.append(std::move(peer.queue.front()));
            peer.queue.pop_front();
        }
        auto payload = Payload::from_json(
            Json::object("rank", self->own_rank_, "seq", ++peer.sent, "messages", std::move(messages)));
        try {
            co_await self->host_.deliver(rank, payload);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            peer.lost = true;
            peer.queue.clear();
            self->host_.link_error(rank, error);
        }
        peer.under_way = 0;
        self->call_waiting(peer);
    }
    peer.running = false;
    self->host_.link_busy(false);
}

std::size_t Links::unsent(unsigned rank) const noexcept {
    auto found = peers_.find(rank);
    return found == peers_.end() ? 0 : found->second.queue.size() + found->second.under_way;
}

void Links::when_unsent(unsigned rank, std::size_t count, std::function<void()> callback) {
    auto& peer = peers_[rank];
    peer.waiting.push_back(Waiting{count, std::move(callback)});
    if (unsent(rank) <= count) host_.link_scope().loop().post([this, &peer] { call_waiting(peer); });
}

void Links::call_waiting(Peer& peer) {
    auto unsent = peer.queue.size() + peer.under_way;
    for (auto& waiting : std::exchange(peer.waiting, {})) {
        if (unsent <= waiting.count)
            waiting.callback();
        else
            peer.waiting.push_back(std::move(waiting));
    }
}

void Links::on_message(std::string_view kind, Receiver receiver) {
    receivers_.insert_or_assign(std::string(kind), std::move(receiver));
}

void Links::receive(Request request) {
    auto json = request.json();
    auto from = json.get<unsigned>("rank");
    auto sequence = json.get<std::int64_t>("seq");
    auto messages = json.get<JsonView>("messages");
    auto& peer = peers_[from];
    if (sequence > peer.received + 1)
        throw Error(EINVAL, "link: a message of shell " + std::to_string(from) + " is missing");
    if (sequence == peer.received + 1) {
        peer.received = sequence;
        for (auto message : messages.elements()) dispatch(from, message);
    }
    if (stalled_)
        unconfirmed_.push_back(std::move(request));
    else
        request.respond();
}

void Links::dispatch(unsigned from, JsonView message) {
    try {
        auto found = receivers_.find(message[0].as<std::string_view>());
        if (found != receivers_.end()) found->second(from, message[1]);
    } catch (const Error& error) {
        host_.link_error(from, error);
    }
}

void Links::stall(bool on) {
    stalled_ = on;
    if (on) return;
    for (auto& request : std::exchange(unconfirmed_, {})) request.respond();
}

} // namespace flux::shell
