#include "reduction.hpp"

#include <flux/resource_protocol.hpp>

#include <algorithm>
#include <cerrno>

using namespace std::chrono_literals;

namespace flux::resource {
namespace {

// How long to wait for the rest of the subtree.
constexpr auto gather_time = 100ms;
// Between attempts while the parent has no such service.
constexpr std::chrono::milliseconds first_delay = 50ms;
constexpr std::chrono::milliseconds last_delay = 1s;

} // namespace

Reduction::Reduction(Handle& handle, Scope& scope, std::size_t subtree)
    : handle_(handle), scope_(scope), subtree_(subtree), moment_(handle.loop(), [this] { start(); }) {}

void Reduction::add(const ResourceSet& found) {
    waiting_.remove_ranks(found.ranks());
    waiting_.append(found);
    reported_ |= found.ranks();
    if (sending_) return;
    if (reported_.count() >= subtree_) return start();
    if (!moment_.active()) moment_.start(gather_time);
}

void Reduction::start() {
    moment_.stop();
    if (sending_ || waiting_.empty()) return;
    sending_ = true;
    scope_.spawn("report of resources", &Reduction::send, this);
}

Task<> Reduction::send(Reduction* self) {
    auto delay = first_delay;
    while (!self->waiting_.empty()) {
        auto found = std::exchange(self->waiting_, ResourceSet());
        auto payload = Json::object("count", found.nnodes(), "resource", found.encode());
        bool failed = false;
        try {
            co_await self->handle_.call(resource_protocol::topo_reduce.topic, std::move(payload),
                                        CallOptions().upstream());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error&) {
            failed = true; // the parent is starting, or away
        }
        if (!failed) continue;
        found.remove_ranks(self->waiting_.ranks()); // newer
        self->waiting_.append(found);
        co_await sleep_for(delay);
        delay = std::min(delay * 2, last_delay);
    }
    self->sending_ = false;
}

} // namespace flux::resource
