// R version 1 as JSON. What is unknown in it is dropped; what is known is checked.
#include <flux/resource_set.hpp>

#include <cerrno>

namespace flux {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, text); }

JsonView require(JsonView object, std::string_view key) {
    auto member = object[key];
    if (!member) fail("Object item not found: " + std::string(key));
    return member;
}

JsonView require_object(JsonView object, std::string_view key) {
    auto member = require(object, key);
    if (!member.is_object()) fail(std::string(key) + ": expected object, got " + member.type_name());
    return member;
}

Idset ids(JsonView value, std::string_view what) {
    auto text = value.try_as<std::string_view>();
    if (!text) fail(std::string(what) + ": expected idset, got " + value.type_name());
    try {
        return Idset::parse(*text);
    } catch (const Error& error) {
        throw error.while_doing(std::string(what));
    }
}

double time_of(JsonView execution, std::string_view key) {
    auto value = execution[key];
    if (!value || value.is_null()) return 0;
    auto time = value.try_as<double>();
    if (!time || *time < 0) fail(std::string(key) + ": expected a time, got " + value.dump());
    return *time;
}

Hostlist host_names(JsonView nodelist) {
    if (!nodelist.is_array()) fail(std::string("nodelist: expected array, got ") + nodelist.type_name());
    Hostlist hosts;
    for (auto element : nodelist.elements()) {
        auto text = element.try_as<std::string_view>();
        if (!text) fail(std::string("nodelist: expected hostlist, got ") + element.type_name());
        hosts.append(Hostlist::parse(*text));
    }
    return hosts;
}

} // namespace

ResourceSet ResourceSet::parse(std::string_view text) { return decode(Json::parse(text, "R")); }

ResourceSet ResourceSet::decode(JsonView R) {
    auto version = require(R, "version").try_as<std::int64_t>();
    if (version != 1) fail("invalid version=" + R["version"].dump());
    auto execution = require_object(R, "execution");
    auto entries = require(execution, "R_lite");
    if (!entries.is_array()) fail(std::string("R_lite: expected array, got ") + entries.type_name());

    ResourceSet result;
    Idset named;
    for (auto entry : entries.elements()) {
        auto ranks = ids(require(entry, "rank"), "rank");
        Children::Map types;
        for (auto [type, value] : require_object(entry, "children").members())
            types.emplace(std::string(type), ids(value, type));
        Children children(std::move(types));
        if (result.ranks_.intersects(ranks))
            for (const auto& [others, members] : result.groups_)
                if (others.intersects(children) && members.intersects(ranks))
                    fail("rank " + (members & ranks).encode() + " has " + others.common(children).summary() + " twice");
        named |= ranks;
        result.merge(ranks, children);
    }
    if (auto nodelist = execution["nodelist"]) {
        auto hosts = host_names(nodelist);
        if (hosts.size() != named.count())
            fail("nodelist has " + std::to_string(hosts.size()) + " hosts for " + std::to_string(named.count()) +
                 " ranks");
        auto rank = named.begin();
        for (auto host : hosts) {
            if (result.ranks_.test(*rank)) result.hosts_.emplace_hint(result.hosts_.end(), *rank, std::move(host));
            ++rank;
        }
    }
    for (auto [name, value] : execution["properties"].members()) result.set_property(name, ids(value, "properties"));
    result.starttime = time_of(execution, "starttime");
    result.expiration = time_of(execution, "expiration");
    if (result.starttime > 0 && result.expiration > 0 && result.expiration <= result.starttime)
        fail("expiration is not after starttime");
    if (auto nslots = execution["nslots"]) {
        result.nslots = nslots.try_as<std::int64_t>().value_or(0);
        if (result.nslots <= 0) fail("nslots: expected an integer > 0, got " + nslots.dump());
    }
    if (auto scheduling = R["scheduling"]) result.set_scheduling(scheduling.copy());
    return result;
}

Json ResourceSet::encode() const {
    auto entries = Json::array();
    for (const auto& group : groups()) {
        auto children = Json::object();
        for (const auto& [type, ids] : group.children.types()) children.set(type, ids.encode());
        entries.append(Json::object("rank", group.ranks.encode(), "children", std::move(children)));
    }
    auto execution = Json::object("R_lite", std::move(entries), "starttime", starttime, "expiration", expiration);
    if (nslots > 0) execution.set("nslots", nslots);
    // A rank without a host would shift the names of all others.
    if (hosts_.size() == nnodes()) execution.set("nodelist", Json::array_of(hosts().encode()));
    if (!properties_.empty()) {
        auto properties = Json::object();
        for (const auto& [name, ranks] : properties_) properties.set(name, ranks.encode());
        execution.set("properties", std::move(properties));
    }
    auto R = Json::object("version", 1, "execution", std::move(execution));
    if (scheduling_) R.set("scheduling", scheduling_->copy());
    return R;
}

} // namespace flux
