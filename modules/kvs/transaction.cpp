#include "transaction.hpp"

#include <flux/base64.hpp>
#include <flux/kvs.hpp>
#include <flux/treeobj.hpp>

#include <fmt/format.h>

#include <cerrno>

namespace flux::kvs_store {
namespace {

// \throws Error EPROTO when it is no base64.
std::string bytes_of(const Entry& val) { return base64_decode(Json::parse(val.data).as<std::string_view>()); }

// Values that will become blobs must be good base64 all over the object.
void check_long_values(const Entry& entry) {
    if (entry.kind == Kind::dir)
        for (const auto& below : entry.directory->entries()) check_long_values(*below);
    if (entry.kind == Kind::val && too_long(entry)) bytes_of(entry);
}

Operation decode_operation(JsonView op) {
    auto dirent = op["dirent"];
    if (!op.is_object() || op.size() != 3 || !dirent) throw Error(EPROTO, "kvs: operation is not key, flags, dirent");
    Operation operation;
    operation.key = kvs::normalize_key(op.get<std::string_view>("key"));
    operation.append = op.get<int>("flags") & kvs_protocol::append;
    if (operation.key.empty() || operation.key == ".")
        throw Error(EINVAL, fmt::format("kvs: key '{}': cannot be changed", operation.key));
    if (dirent.is_null()) {
        if (operation.append) throw Error(EPROTO, fmt::format("kvs: key '{}': nothing to append", operation.key));
        return operation;
    }
    treeobj::validate(dirent);
    auto name = std::string_view(operation.key);
    name.remove_prefix(name.rfind('.') + 1);
    bool val = treeobj::type_of(dirent) == treeobj::Type::val;
    if (operation.append && !val)
        throw Error(EPROTO, fmt::format("kvs: key '{}': only a value can be appended", operation.key));
    if (!val) {
        operation.entry = make_entry(name, dirent);
        check_long_values(*operation.entry);
        return operation;
    }
    auto text = dirent.get<std::string_view>("data");
    operation.blob = text.size() > inline_limit;
    operation.entry = operation.blob ? make_entry(name, Kind::val, {}) : make_entry(name, dirent);
    if (operation.blob || operation.append) operation.value = base64_decode(text);
    return operation;
}

} // namespace

Operations decode_operations(JsonView ops) {
    if (!ops.is_array()) throw Error(EPROTO, "kvs: ops is not an array");
    Operations operations;
    operations.reserve(ops.size());
    for (auto op : ops.elements()) operations.push_back(decode_operation(op));
    return operations;
}

void check_guest(const Operations& operations) {
    for (const auto& operation : operations) {
        if (!operation.entry || operation.entry->kind == Kind::val) continue;
        auto kind = operation.entry->kind;
        if (kind == Kind::dir && operation.entry->directory->entries().empty()) continue;
        throw Error(EPERM, fmt::format("guests may not commit {} objects",
                                       kind == Kind::dir ? "non-empty dir" : name_of(kind)));
    }
}

} // namespace flux::kvs_store
