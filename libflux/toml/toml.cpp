#include <flux/toml.hpp>

#include <toml++/toml.h>

#include <cerrno>
#include <sstream>

namespace flux {
namespace {

Json to_json(const toml::node& node) {
    if (const auto* table = node.as_table()) {
        auto object = Json::object();
        for (const auto& [key, value] : *table) object.set(key.str(), to_json(value));
        return object;
    }
    if (const auto* array = node.as_array()) {
        auto list = Json::array();
        for (const auto& value : *array) list.append(to_json(value));
        return list;
    }
    if (const auto* text = node.as_string()) return Json(text->get());
    if (const auto* number = node.as_integer()) return Json(number->get());
    if (const auto* real = node.as_floating_point()) return Json(real->get());
    if (const auto* flag = node.as_boolean()) return Json(flag->get());
    // Dates: their text, as JSON has no form for them.
    std::ostringstream text;
    node.visit([&](const auto& value) { text << value; });
    return Json(text.str());
}

} // namespace

Json parse_toml(std::string_view text, const std::string& source) {
    try {
        return to_json(toml::parse(text));
    } catch (const toml::parse_error& error) {
        throw Error(EINVAL, source + ": line " + std::to_string(error.source().begin.line) + ": " +
                                std::string(error.description()));
    }
}

} // namespace flux
