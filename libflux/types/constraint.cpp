#include <flux/constraint.hpp>
#include <flux/resource_set.hpp>

#include <cerrno>
#include <string>
#include <vector>

namespace flux {
namespace {

// Constraints come from users.
constexpr unsigned max_depth = 200;

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, text); }

std::string_view without_negation(std::string_view property) {
    return property.starts_with('^') ? property.substr(1) : property;
}

} // namespace

struct Constraint::Node {
    enum class Operator { properties, hostlist, ranks, conjunction, disjunction, inversion };

    Operator op = Operator::conjunction;
    std::vector<std::string> properties;
    Hostlist hosts;
    Idset ranks;
    std::vector<Node> operands;
};

namespace {

using Node = Constraint::Node;
using Operator = Node::Operator;

std::string_view string_value(JsonView value, std::string_view what) {
    auto text = value.try_as<std::string_view>();
    if (!text) fail("non-string " + std::string(what) + " specified");
    return *text;
}

Node compile_node(JsonView constraint, unsigned depth);

void compile_value(Node& node, JsonView value, unsigned depth) {
    switch (node.op) {
    case Operator::properties: {
        auto property = string_value(value, "property");
        auto bad = without_negation(property).find_first_of("!&'\"`|()");
        if (bad != std::string_view::npos)
            fail(std::string("invalid character '") + without_negation(property)[bad] + "' in property \"" +
                 std::string(property) + '"');
        node.properties.emplace_back(property);
        break;
    }
    case Operator::hostlist: node.hosts.append(Hostlist::parse(string_value(value, "hostlist"))); break;
    case Operator::ranks: node.ranks |= Idset::parse(string_value(value, "idset")); break;
    case Operator::conjunction:
    case Operator::disjunction:
    case Operator::inversion: node.operands.push_back(compile_node(value, depth + 1)); break;
    }
}

Node compile_node(JsonView constraint, unsigned depth) {
    if (!constraint.is_object()) fail("constraint must be an object");
    if (depth > max_depth) fail("constraint is nested too deeply");
    Node node;
    if (constraint.empty()) return node;
    if (constraint.size() > 1) fail("constraint must only contain 1 element");
    auto [name, values] = *constraint.members().begin();
    if (name == "properties")
        node.op = Operator::properties;
    else if (name == "hostlist")
        node.op = Operator::hostlist;
    else if (name == "ranks")
        node.op = Operator::ranks;
    else if (name == "and")
        node.op = Operator::conjunction;
    else if (name == "or")
        node.op = Operator::disjunction;
    else if (name == "not")
        node.op = Operator::inversion;
    else
        fail("unknown constraint operator: " + std::string(name));
    if (!values.is_array()) fail(std::string(name) + " operator value must be an array");
    for (auto value : values.elements()) compile_value(node, value, depth);
    return node;
}

// A host name counts as a property of its host.
Idset having(std::string_view property, const ResourceSet& resources) {
    Hostlist host;
    host.push_back(property);
    auto result = resources.ranks_on(host);
    auto found = resources.properties().find(property);
    if (found != resources.properties().end()) result |= found->second;
    return result;
}

Idset select_node(const Node& node, const ResourceSet& resources) {
    Idset result;
    switch (node.op) {
    case Operator::properties:
        result = resources.ranks();
        for (const auto& property : node.properties) {
            auto members = having(without_negation(property), resources);
            if (property.starts_with('^'))
                result -= members;
            else
                result &= members;
        }
        break;
    case Operator::hostlist: result = resources.ranks_on(node.hosts); break;
    case Operator::ranks: result = resources.ranks() & node.ranks; break;
    case Operator::disjunction:
        if (node.operands.empty()) return resources.ranks();
        for (const auto& operand : node.operands) result |= select_node(operand, resources);
        break;
    case Operator::conjunction:
    case Operator::inversion:
        result = resources.ranks();
        for (const auto& operand : node.operands) result &= select_node(operand, resources);
        if (node.op == Operator::inversion) result = resources.ranks() - result;
        break;
    }
    return result;
}

void validate_property(JsonView value) {
    auto property = string_value(value, "property");
    if (without_negation(property).find_first_of("&'\"`|()") != std::string_view::npos)
        fail("invalid character in property '" + std::string(property) + "'");
}

void validate_hosts(JsonView value, const Hostlist* known) {
    auto hosts = Hostlist::parse(string_value(value, "hostlist"));
    if (!known) return;
    hosts.remove(*known);
    Hostlist missing;
    for (auto host : hosts)
        if (!known->contains(host)) missing.push_back(host);
    if (!missing.empty())
        fail(std::string("host constraint contains invalid hosts: ") + (missing.size() > 1 ? "hosts" : "host") + " '" +
             missing.encode() + "' not found");
}

void validate(JsonView constraint, const Hostlist* hosts, unsigned depth) {
    if (!constraint.is_object()) fail("constraint must be a mapping");
    if (depth > max_depth) fail("constraint is nested too deeply");
    for (auto [op, values] : constraint.members()) {
        bool combines = op == "and" || op == "or" || op == "not";
        if (!combines && op != "properties" && op != "hostlist" && op != "ranks")
            fail("unknown constraint operator '" + std::string(op) + "'");
        if (!values.is_array()) fail("constraint operator '" + std::string(op) + "' value must be a list");
        for (auto value : values.elements()) {
            if (combines)
                validate(value, hosts, depth + 1);
            else if (op == "properties")
                validate_property(value);
            else if (op == "hostlist")
                validate_hosts(value, hosts);
            else
                Idset::parse(string_value(value, "idset"));
        }
    }
}

} // namespace

Constraint Constraint::compile(JsonView constraint) {
    Constraint result;
    result.root_ = std::make_shared<const Node>(compile_node(constraint, 0));
    return result;
}

Idset Constraint::select(const ResourceSet& resources) const {
    return root_ ? select_node(*root_, resources) : resources.ranks();
}

void validate_constraint(JsonView constraint, const Hostlist* hosts) { validate(constraint, hosts, 0); }

} // namespace flux
