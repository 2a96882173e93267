// Bootstrap by the `[bootstrap]` table: the host name tells the rank, the table everything else.
#pragma once

#include "broker/bootstrap/bootstrap.hpp"
#include "broker/bootstrap/bootstrap_table.hpp"

namespace flux::broker {

class ConfigBootstrap final : public Bootstrap {
public:
    ConfigBootstrap(JsonView table, const std::string& hostname);

    std::optional<std::string> mapping() const override;
    std::vector<std::uint32_t> parents() const override { return table_.parents(); }
    bool needs_keys(const Topology& topology, const Listening& listening) const override;
    LinkKeys make_keys() const override;
    std::optional<LinkKeys> keys_of(JsonView config, const Topology& topology) const override;
    std::vector<std::string> bind_uris(const Topology& topology, const Listening& listening) override;
    Peers meet(const Topology& topology, const BusinessCard& own) override;
    std::string endpoint(const BusinessCard& own) const override;

private:
    BootstrapTable table_;
};

} // namespace flux::broker
