#include "fuzz.hpp"

#include <flux/constraint.hpp>
#include <flux/resource_set.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto resources = flux::ResourceSet::parse(
        R"({"version":1,"execution":{"R_lite":[{"rank":"0-5","children":{"core":"0-3"}}],"nodelist":["n[0-5]"],)"
        R"("properties":{"batch":"0-3","debug":"4-5"},"starttime":0.0,"expiration":0.0}})");
    try {
        auto json = flux::Json::parse(fuzz::text(data, size));
        auto selected = flux::Constraint::compile(json).select(resources);
        fuzz::require(resources.ranks().includes(selected));
        auto inverse = flux::Json::object("not", flux::Json::array_of(json.copy()));
        fuzz::require(flux::Constraint::compile(inverse).select(resources) == resources.ranks() - selected);
    } catch (const flux::Error&) {}
    return 0;
}
