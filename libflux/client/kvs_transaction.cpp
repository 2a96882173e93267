#include <flux/kvs.hpp>

#include <cerrno>

namespace flux::kvs {

Transaction::Operation::Operation(std::string_view key, int flags, std::optional<std::string> value, Json object)
    : key(key), flags(flags), value(std::move(value)), object(std::move(object)) {}

Transaction& Transaction::add(Operation operation) {
    if (operation.key.empty()) throw Error(EINVAL, "kvs: key is empty");
    bytes_ += sizeof(Operation) + operation.key.size();
    if (operation.value)
        bytes_ += operation.value->size();
    else if (!operation.object.is_null())
        bytes_ += operation.object.dump().size();
    operations_.push_back(std::move(operation));
    return *this;
}

Transaction& Transaction::put(std::string_view key, std::string_view bytes) {
    open_appends_.clear();
    return add(Operation(key, 0, std::string(bytes), Json()));
}

Transaction& Transaction::append(std::string_view key, std::string_view bytes) {
    open_appends_[std::string(key)] = operations_.size();
    return add(Operation(key, kvs_protocol::append, std::string(bytes), Json()));
}

Transaction& Transaction::mkdir(std::string_view key) { return put_treeobj(key, treeobj::make_dir()); }

Transaction& Transaction::unlink(std::string_view key) {
    open_appends_.clear();
    return add(Operation(key, 0, std::nullopt, Json()));
}

Transaction& Transaction::symlink(std::string_view key, std::string_view target,
                                  std::optional<std::string_view> name_space) {
    return put_treeobj(key, treeobj::make_symlink(target, name_space));
}

Transaction& Transaction::put_treeobj(std::string_view key, JsonView object) {
    treeobj::validate(object);
    open_appends_.clear();
    return add(Operation(key, 0, std::nullopt, object.copy()));
}

void Transaction::join(const Transaction& later) {
    for (const auto& operation : later.operations_) {
        bool append = operation.flags & kvs_protocol::append;
        if (!append) open_appends_.clear();
        auto open = open_appends_.find(operation.key);
        if (open != open_appends_.end()) {
            *operations_[open->second].value += *operation.value;
            bytes_ += operation.value->size();
            continue;
        }
        if (append) open_appends_[operation.key] = operations_.size();
        add(Operation(operation.key, operation.flags, operation.value, operation.object.copy()));
    }
}

Json Transaction::to_json() const {
    auto ops = Json::array();
    for (const auto& operation : operations_) {
        auto dirent = operation.value ? treeobj::make_val(*operation.value) : operation.object.copy();
        ops.append(Json::object("key", operation.key, "flags", operation.flags, "dirent", std::move(dirent)));
    }
    return ops;
}

} // namespace flux::kvs
