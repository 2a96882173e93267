// The route that a client gives with a request, as one id that begins with the client's own: nobody can pass for
// another sender that way, and those whose messages a proxy relays are still told apart. Pure.
#pragma once

#include <flux/message.hpp>

#include <string>
#include <string_view>

namespace flux::broker {

/// `UUID/ID,ID,...` with each id of the route in base64, top first. \throws Error EPROTO when the route is too long
std::string fold_route(const RouteStack& route, std::string_view uuid);
/// The client of an id that leads to one.
std::string_view client_of(std::string_view id) noexcept;
/// The route that is folded in an id; empty when there is none.
RouteStack unfold_route(std::string_view id);

} // namespace flux::broker
