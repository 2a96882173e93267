#include <flux/resource_config.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <unordered_map>

namespace flux {
namespace {

// Ranks of hosts, and what the entries so far have given them.
class Hosts {
public:
    std::vector<std::size_t> ranks_of(const Hostlist& hosts) {
        std::vector<std::size_t> ranks;
        for (auto host : hosts) {
            auto [at, added] = rank_of_.emplace(host, names_.size());
            if (added) {
                names_.push_back(host);
                children_.emplace_back();
            }
            ranks.push_back(at->second);
        }
        return ranks;
    }
    void give(std::size_t rank, const Children& children) {
        if (children_[rank].intersects(children)) throw Error(EINVAL, "Unable to add rnode: File exists");
        children_[rank] = children_[rank].united(children);
    }
    ResourceSet resources() const {
        ResourceSet result;
        Hostlist poor;
        for (std::size_t rank = 0; rank < names_.size(); ++rank) {
            if (children_[rank].empty())
                poor.push_back(names_[rank]);
            else
                result.add(static_cast<Idset::Id>(rank), names_[rank], children_[rank]);
        }
        if (!poor.empty()) throw Error(EINVAL, fmt::format("resource.config: {} assigned no resources", poor.encode()));
        return result;
    }

private:
    std::unordered_map<std::string, std::size_t> rank_of_;
    std::vector<std::string> names_;
    std::vector<Children> children_;
};

class ConfigReader {
public:
    ResourceSet read(JsonView entries) {
        if (!entries.is_array()) throw Error(EINVAL, "resource config must be an array");
        if (entries.empty()) throw Error(EINVAL, "no hosts configured");
        for (; index_ < entries.size(); ++index_) add(entries[index_]);
        auto result = hosts_.resources();
        for (const auto& [name, ranks] : properties_) result.set_property(name, ranks);
        return result;
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw Error(EINVAL, fmt::format("config[{}]: {}", index_, why));
    }

    Idset ids(JsonView entry, const char* key) const {
        auto value = entry[key];
        if (!value) return {};
        auto ids = value.try_as<Idset>();
        if (!ids) fail(fmt::format("invalid idset {}='{}'", key, value.try_as<std::string>().value_or(value.dump())));
        return *ids;
    }

    void check_keys(JsonView entry) const {
        if (!entry.is_object()) fail(fmt::format("expected table, got {}", entry.type_name()));
        std::string unknown;
        std::size_t count = 0;
        for (auto [key, value] : entry.members()) {
            if (key == "hosts" || key == "cores" || key == "gpus" || key == "properties") continue;
            unknown += fmt::format("{}{}", count++ ? ", " : "", key);
        }
        if (!entry.contains("hosts")) fail("Object item not found: hosts");
        if (count > 0) fail(fmt::format("{} object item(s) left unpacked: {}", count, unknown));
    }

    void add(JsonView entry) {
        check_keys(entry);
        auto text = entry["hosts"].try_as<std::string>();
        auto hosts = Hostlist::try_parse(text.value_or("["));
        if (!hosts) fail(fmt::format("invalid hostlist '{}'", text.value_or(entry["hosts"].dump())));
        if (hosts->empty()) fail("empty hostlist specified");
        Children children;
        children.set("core", ids(entry, "cores"));
        children.set("gpu", ids(entry, "gpus"));
        Idset ranks;
        for (auto rank : hosts_.ranks_of(*hosts)) {
            hosts_.give(rank, children);
            ranks.set(static_cast<Idset::Id>(rank));
        }
        auto properties = entry["properties"];
        if (!properties) return;
        if (!properties.is_array()) fail("properties must be an array");
        for (auto property : properties.elements()) {
            auto name = property.try_as<std::string>();
            try {
                if (!name) throw Error(EINVAL);
                check_property_name(*name);
            } catch (const Error&) {
                fail(fmt::format("invalid property {}", property.dump()));
            }
            properties_[*name] |= ranks;
        }
    }

    std::size_t index_ = 0;
    Hosts hosts_;
    ResourceSet::Properties properties_;
};

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf()))
        throw Error(errno ? errno : EIO, fmt::format("{}: {}", path, errno_text(errno)));
    return text.str();
}

} // namespace

ResourceSet parse_resource_config(JsonView entries) {
    try {
        return ConfigReader().read(entries);
    } catch (const Error& error) {
        throw error.while_doing("error parsing [resource.config] array");
    }
}

std::optional<ResourceSet> configured_resources(JsonView table) {
    std::optional<ResourceSet> result;
    if (auto config = table["config"]) {
        result = parse_resource_config(config);
    } else if (auto path = table.get_optional<std::string>("path")) {
        try {
            result = ResourceSet::parse(read_file(*path));
        } catch (const Error& error) {
            throw error.while_doing("error reading resource.path " + *path);
        }
    }
    if (auto scheduling = table.get_optional<std::string>("scheduling")) {
        if (!result) throw Error(EINVAL, "resource.scheduling requires resource.path or [resource.config]");
        try {
            result->set_scheduling(Json::parse(read_file(*scheduling), *scheduling));
        } catch (const Error& error) {
            throw error.while_doing("error loading resource.scheduling");
        }
    }
    return result;
}

} // namespace flux
