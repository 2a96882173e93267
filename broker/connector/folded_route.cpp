#include "broker/connector/folded_route.hpp"

#include <flux/base64.hpp>

#include <cerrno>

namespace flux::broker {
namespace {

// Many times what proxies of proxies need.
constexpr std::size_t max_size = 2048;

} // namespace

std::string fold_route(const RouteStack& route, std::string_view uuid) {
    if (route.key().size() > max_size) throw Error(EPROTO, "the route of a request is too long");
    std::string folded(uuid);
    char separator = '/';
    route.for_each([&](std::string_view id) {
        folded += separator + base64_encode(id);
        separator = ',';
    });
    return folded;
}

std::string_view client_of(std::string_view id) noexcept { return id.substr(0, id.find('/')); }

RouteStack unfold_route(std::string_view id) {
    RouteStack route;
    auto ids = id.substr(client_of(id).size());
    if (ids.empty()) return route;
    ids.remove_prefix(1);
    // The last is the bottom.
    for (auto comma = ids.rfind(','); comma != ids.npos; comma = ids.rfind(',')) {
        route.push(base64_decode(ids.substr(comma + 1)));
        ids = ids.substr(0, comma);
    }
    route.push(base64_decode(ids));
    return route;
}

} // namespace flux::broker
