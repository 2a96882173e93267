// Bootstrap by PMI: the launcher tells the rank and carries the cards (broker.md 7.5).
#pragma once

#include "broker/bootstrap/bootstrap.hpp"

#include <flux/taskmap.hpp>

#include <pmi/session/session.hpp>

namespace flux::broker {

class PmiBootstrap final : public Bootstrap {
public:
    /// \param methods  empty: the first that works.
    explicit PmiBootstrap(const std::vector<std::string>& methods);

    std::string job() const override { return session_->job; }
    std::optional<std::string> launcher_value(const std::string& key) override;
    std::optional<std::string> mapping() const override;
    bool needs_keys(const Topology& topology, const Listening& listening) const override;
    std::vector<std::string> bind_uris(const Topology& topology, const Listening& listening) override;
    Peers meet(const Topology& topology, const BusinessCard& own) override;

private:
    bool same_node(std::uint32_t peer) const;
    BusinessCard card_of(std::uint32_t rank);

    std::unique_ptr<pmi::Session> session_;
    Taskmap nodes_; ///< of the brokers; unknown: each on its own
};

} // namespace flux::broker
