// What a job asks of the scheduler, read from its jobspec.
#pragma once

#include <flux/json.hpp>

#include <compare>
#include <cstdint>
#include <string>

namespace flux::sched {

/// Equal requests are interchangeable: what holds for one at some moment holds for all.
struct Request {
    /// Every number from min to max will do.
    struct Span {
        std::uint64_t min = 0;
        std::uint64_t max = 0;
        auto operator<=>(const Span&) const = default;
    };

    /// Node form: whole numbers of nodes with `slots_per_node` each. `nodes.min == 0`: slot form.
    Span nodes;
    std::uint64_t slots_per_node = 0;
    /// Slot form: slots wherever they fit.
    Span slots;
    std::uint64_t slot_cores = 1;
    std::uint64_t slot_gpus = 0;
    bool exclusive = false;
    double duration = 0; ///< seconds, 0 = unlimited
    /// RFC 31 object as canonical text; empty: none.
    std::string constraint;
    /// Why this scheduler cannot serve it whatever the resources; empty: it can.
    std::string unsupported;

    bool by_node() const noexcept { return nodes.min > 0; }
    std::uint64_t node_cores() const noexcept { return slots_per_node * slot_cores; }
    std::uint64_t node_gpus() const noexcept { return slots_per_node * slot_gpus; }

    auto operator<=>(const Request&) const = default;

    /// \throws Error EINVAL with the text that follows `cannot parse jobspec: `
    static Request from_jobspec(JsonView jobspec);
};

} // namespace flux::sched
