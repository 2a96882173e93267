#include "plugin_record.hpp"

namespace flux::job_manager {

void PluginRecord::loaded(std::string_view name, std::string_view file, JsonView arguments) {
    std::erase_if(loads_, [&](const Load& load) { return load.name == name; });
    loads_.push_back({std::string(name), std::string(file), arguments.copy()});
}

void PluginRecord::removed(std::string_view name) {
    // What was loaded at run time needs no mark, unless it took the place of something that has one already.
    if (std::erase_if(loads_, [&](const Load& load) { return load.name == name; }) == 0) removed_.emplace(name);
}

Json PluginRecord::encode() const {
    auto loaded = Json::array();
    for (auto& load : loads_)
        loaded.append(Json::object("name", load.name, "file", load.file, "conf", load.arguments.copy()));
    auto removed = Json::array();
    for (auto& name : removed_) removed.append(name);
    return Json::object("loaded", std::move(loaded), "removed", std::move(removed));
}

PluginRecord PluginRecord::decode(JsonView json) {
    PluginRecord record;
    for (auto load : json["loaded"].elements()) {
        auto name = load["name"].try_as<std::string>(), file = load["file"].try_as<std::string>();
        if (name && file && load["conf"].is_object()) record.loaded(*name, *file, load["conf"]);
    }
    for (auto name : json["removed"].elements()) {
        if (auto text = name.try_as<std::string>()) record.removed_.insert(*text);
    }
    return record;
}

} // namespace flux::job_manager
