// RFC 35 constraint query strings: what people type (`--requires='a|b host:n[0-3]'`) turned into RFC 31 objects.
#pragma once

#include <flux/json.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace flux {

/// How one application reads the terms of a query.
struct ConstraintQueryRules {
    /// Operator of a term that names none; empty: a term must name its operator.
    std::string default_operator;
    /// Other spellings of operators: `host` → `hostlist`.
    std::map<std::string, std::string, std::less<>> aliases;
    /// Operators whose operand is a list: operator → separator.
    std::map<std::string, char, std::less<>> split;
    /// Operators whose neighbouring terms merge into one under `and`.
    std::set<std::string, std::less<>> combine;

    /// The rules of `--requires` and of the resource listing tools.
    static const ConstraintQueryRules& for_resources();
};

/// The RFC 31 object of a query; `{}` for an empty one.
/// \throws Error EINVAL with the position of what is wrong.
Json parse_constraint_query(std::string_view query, const ConstraintQueryRules& rules);

} // namespace flux
