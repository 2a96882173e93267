#include "broker/bootstrap/bootstrap.hpp"

#include "broker/bootstrap/config_bootstrap.hpp"
#include "broker/bootstrap/pmi_bootstrap.hpp"

#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace flux::broker {

std::unique_ptr<Bootstrap> Bootstrap::choose(const Request& request) {
    std::vector<std::string> methods;
    if (request.method) {
        methods.push_back(*request.method);
    } else if (const char* given = std::getenv("FLUX_PMI_CLIENT_METHODS")) {
        std::istringstream words{given};
        for (std::string word; words >> word;) methods.push_back(word);
    }
    auto table = request.config["bootstrap"];
    const bool chosen = !methods.empty();
    if (chosen && methods.front() == "config") {
        methods.erase(methods.begin());
        if (!table && methods.empty())
            throw Error(EINVAL, "Config file error [bootstrap]: boot method is config, but there is no such table");
        if (table) return std::make_unique<ConfigBootstrap>(table, request.hostname);
    }
    if (!chosen && table) return std::make_unique<ConfigBootstrap>(table, request.hostname);
    return std::make_unique<PmiBootstrap>(methods);
}

} // namespace flux::broker
