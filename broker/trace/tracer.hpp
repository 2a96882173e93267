// Shows what passes through the router to those who ask: `module.trace`, `overlay.trace` (broker.md 3.5). The router
// knows of it only while somebody watches. Runs on the broker's loop.
#pragma once

#include "broker/router/router.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flux::broker {

class Tracer {
public:
    /// How endpoints are called; nothing for one that is no module or no peer.
    class Names {
    public:
        Names() {}
        std::function<std::optional<std::string>(const Endpoint&)> module;
        std::function<std::optional<std::uint32_t>(const Endpoint&)> peer;
    };
    /// Serves `module.trace`, `module.disconnect` and `overlay.trace`.
    Tracer(Handle& handle, Router& router, Names names);
    ~Tracer();
    /// A client of `overlay` is gone.
    void disconnect(const Request& request);

private:
    /// What a watcher wants to see.
    class Filter {
    public:
        Filter() {}
        explicit Filter(JsonView payload);
        bool matches(const Message& message) const;

        int types = 0;
        std::string glob;
        std::vector<std::string> modules;  ///< none: all
        std::optional<std::uint32_t> peer; ///< nothing: all
        bool full = false;
    };

    void watch(RequestList<Filter>& watchers, Request request, Filter filter);
    void update_router();
    void on_pass(const Message& message, const Endpoint& endpoint, Router::Way way);

    Router& router_;
    Names names_;
    RequestList<Filter> module_watchers_;
    RequestList<Filter> overlay_watchers_;
};

} // namespace flux::broker
