// Constraint objects (RFC 31): which ranks of a resource set a job may use. Their query strings are in
// constraint_query.hpp.
#pragma once

#include <flux/hostlist.hpp>
#include <flux/idset.hpp>
#include <flux/json.hpp>

#include <memory>

namespace flux {

class ResourceSet;

/// A compiled constraint: properties, hostlist, ranks and their combinations by and, or, not.
class Constraint {
public:
    /// Matches every rank.
    Constraint() = default;
    /// \throws Error EINVAL, as `unknown constraint operator: X`
    static Constraint compile(JsonView constraint);

    /// The ranks that match.
    Idset select(const ResourceSet& resources) const;

    struct Node;

private:
    std::shared_ptr<const Node> root_; // null: matches everything
};

/// The check made before a job is submitted and by the validator. `hosts` is the instance's host list, or null when it
/// is not known. \throws Error EINVAL, as `unknown constraint operator 'X'`
void validate_constraint(JsonView constraint, const Hostlist* hosts);

} // namespace flux
