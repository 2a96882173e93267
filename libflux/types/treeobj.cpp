#include <flux/base64.hpp>
#include <flux/treeobj.hpp>

#include <fmt/format.h>

#include <cerrno>

namespace flux::treeobj {
namespace {

constexpr std::string_view type_names[] = {"val", "valref", "dir", "dirref", "symlink"}; // by Type

[[noreturn]] void fail(std::string_view what) { throw Error(EINVAL, fmt::format("treeobj: {}", what)); }

std::string_view name_of(Type type) { return type_names[static_cast<std::size_t>(type)]; }

// Members in sorted order, so that most objects are canonical as they are.
Json make(Type type, Json data) { return Json::object("data", std::move(data), "type", name_of(type), "ver", 1); }

JsonView data_of(JsonView object, Type type) {
    if (type_of(object) != type) fail(fmt::format("not a {}", name_of(type)));
    return object["data"];
}

bool has_only(JsonView object, std::size_t members) { return object.is_object() && object.size() == members; }

} // namespace

Json make_val(std::string_view bytes) { return make(Type::val, base64_encode(bytes)); }

Json make_valref(std::span<const Blobref> blobs) {
    if (blobs.empty()) fail("a valref needs a blobref");
    auto data = Json::array();
    for (const auto& blob : blobs) data.append(blob);
    return make(Type::valref, std::move(data));
}

Json make_dir() { return make(Type::dir, Json::object()); }

Json make_dirref(const Blobref& blob) { return make(Type::dirref, Json::array_of(blob)); }

Json make_symlink(std::string_view target, std::optional<std::string_view> name_space) {
    auto data = Json::object();
    if (name_space) data.set("namespace", *name_space);
    data.set("target", target);
    return make(Type::symlink, std::move(data));
}

Type type_of(JsonView object) {
    if (object["ver"].try_as<int>() != 1) fail("version is not 1");
    auto name = object["type"].try_as<std::string_view>();
    if (!name || !object.contains("data") || !has_only(object, 3)) fail("members are not data, type and ver");
    for (auto type : {Type::val, Type::valref, Type::dir, Type::dirref, Type::symlink})
        if (*name == name_of(type)) return type;
    fail(fmt::format("unknown type '{}'", *name));
}

void validate(JsonView object) {
    auto data = object["data"];
    switch (type_of(object)) {
    case Type::val:
        if (!data.is_string()) fail("data of a val is not a string");
        break;
    case Type::valref:
    case Type::dirref:
        if (!data.is_array() || data.empty()) fail("data of a reference is not a list of blobrefs");
        for (auto element : data.elements()) {
            auto text = element.try_as<std::string_view>();
            if (!text || !Blobref::is_valid(*text)) fail("invalid blobref");
        }
        break;
    case Type::dir:
        for (auto [name, entry] : entries_of(object).members()) validate(entry);
        break;
    case Type::symlink: link_of(object); break;
    }
}

std::string value_of(JsonView val) {
    auto data = data_of(val, Type::val).try_as<std::string_view>();
    if (!data) fail("data of a val is not a string");
    try {
        return base64_decode(*data);
    } catch (const Error& error) {
        fail(error.text());
    }
}

std::vector<Blobref> blobrefs_of(JsonView ref) {
    auto type = type_of(ref);
    if (type != Type::valref && type != Type::dirref) fail("not a reference");
    auto blobs = ref["data"].try_as<std::vector<Blobref>>();
    if (!blobs || blobs->empty()) fail("data of a reference is not a list of blobrefs");
    return std::move(*blobs);
}

JsonView entries_of(JsonView dir) {
    auto data = data_of(dir, Type::dir);
    if (!data.is_object()) fail("data of a dir is not an object");
    return data;
}

Link link_of(JsonView symlink) {
    auto data = data_of(symlink, Type::symlink);
    auto target = data["target"].try_as<std::string_view>();
    auto name_space = data["namespace"].try_as<std::string_view>();
    if (!target || !has_only(data, name_space ? 2 : 1)) fail("data of a symlink is not target and namespace");
    return {*target, name_space};
}

std::string encode(JsonView object) { return object.dump_sorted(); }

Json decode(std::string_view text) {
    Json object;
    try {
        object = Json::parse(text);
    } catch (const Error& error) {
        fail(error.text());
    }
    validate(object);
    return object;
}

} // namespace flux::treeobj
