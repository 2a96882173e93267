#include "working_tree.hpp"

#include <flux/base64.hpp>
#include <flux/kvs.hpp>
#include <flux/treeobj.hpp>

#include <fmt/format.h>

#include <cerrno>

namespace flux::kvs_store {
namespace {

// Thrown out of a transaction that needs a directory which is not in memory.
struct Missing {
    Blobref ref;
};

// Where a link on the way leads: its target and what remained of the path behind it.
std::vector<std::string> redirect(const Entry& link, const std::vector<std::string>& path, std::size_t behind) {
    auto data = Json::parse(link.data);
    if (data.contains("namespace"))
        throw Error(EINVAL, fmt::format("kvs: link '{}' leads into another namespace", link.name));
    auto target = split_key(kvs::normalize_key(data.get<std::string_view>("target")));
    target.insert(target.end(), path.begin() + static_cast<std::ptrdiff_t>(behind), path.end());
    return target;
}

bool is_value(const Entry& entry) { return entry.kind == Kind::val || entry.kind == Kind::valref; }

// \throws Error EPROTO when somebody had stored what is no base64.
std::string bytes_of(const Entry& val) { return base64_decode(Json::parse(val.data).as<std::string_view>()); }

} // namespace

WorkingTree::WorkingTree(const Blobref& root, Hasher& hasher, DirectorySource source)
    : root_ref_(root), hasher_(hasher), source_(std::move(source)) {}

DirectoryPtr WorkingTree::load(const Blobref& ref) const {
    auto sealed = sealed_.find(ref);
    return sealed != sealed_.end() ? sealed->second : source_(ref);
}

DirectoryPtr WorkingTree::below(const Entry& entry) const {
    return entry.kind == Kind::dir ? entry.directory : load(directory_blob(entry));
}

void WorkingTree::find_missing(const Operations& operations, std::unordered_set<Blobref>& missing) const {
    for (const auto& operation : operations) {
        try {
            find_missing(operation, missing);
        } catch (const Error&) {
            // apply() comes to it again and says why.
        }
    }
}

void WorkingTree::find_missing(const Operation& operation, std::unordered_set<Blobref>& missing) const {
    auto path = split_key(operation.key);
    DirectoryPtr loaded;
    const Directory* at = root_;
    if (!at) at = (loaded = load(root_ref_)).get();
    if (!at) {
        missing.insert(root_ref_);
        return;
    }
    int links = 0;
    const auto* const root = at;
    const auto root_owner = loaded;
    for (std::size_t i = 0; i + 1 < path.size();) {
        auto entry = at->find(path[i]);
        if (!entry || is_value(*entry)) break;
        if (entry->kind == Kind::symlink) {
            if (++links > link_limit || Json::parse(entry->data).contains("namespace")) break;
            path = redirect(*entry, path, i + 1);
            at = root;
            i = 0;
            continue;
        }
        loaded = below(*entry);
        if (!loaded) {
            missing.insert(directory_blob(*entry));
            break;
        }
        at = loaded.get();
        ++i;
    }
}

std::optional<Blobref> WorkingTree::apply(const Operations& operations) {
    changes_.clear();
    auto blobs = blobs_.size();
    try {
        for (const auto& operation : operations) apply_one(operation);
    } catch (const Missing& missing) {
        undo(blobs);
        return missing.ref;
    } catch (...) {
        undo(blobs);
        throw;
    }
    return std::nullopt;
}

void WorkingTree::undo(std::size_t blobs) {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
        if (change->old)
            change->directory->put(std::move(change->old));
        else
            change->directory->erase(change->name);
    }
    changes_.clear();
    blobs_.resize(blobs);
}

void WorkingTree::put(Directory& directory, EntryPtr entry) {
    auto name = entry->name;
    auto old = directory.put(std::move(entry));
    changes_.push_back({&directory, std::move(name), std::move(old)});
}

void WorkingTree::erase(Directory& directory, const std::string& name) {
    if (auto old = directory.erase(name)) changes_.push_back({&directory, name, std::move(old)});
}

std::shared_ptr<Directory> WorkingTree::open(const Directory& original, std::optional<Blobref> base) {
    auto copy = std::make_shared<Directory>(original);
    opened_[copy.get()] = {copy, base};
    return copy;
}

Directory& WorkingTree::root() {
    if (!root_) {
        auto original = load(root_ref_);
        if (!original) throw Missing{root_ref_};
        root_ = open(*original, root_ref_).get();
    }
    return *root_;
}

Directory& WorkingTree::descend(Directory& parent, const std::string& name, const EntryPtr& entry) {
    std::shared_ptr<Directory> child;
    if (!entry || is_value(*entry)) {
        child = open(Directory(), std::nullopt);
    } else if (entry->kind == Kind::dir) {
        auto mine = opened_.find(entry->directory.get());
        if (mine != opened_.end()) return *mine->second.directory;
        child = open(*entry->directory, std::nullopt);
    } else {
        auto ref = directory_blob(*entry);
        auto original = load(ref);
        if (!original) throw Missing{ref};
        child = open(*original, ref);
    }
    put(parent, make_entry(name, child));
    return *child;
}

// The directory in which the operation takes place; nothing when there is none to unlink from.
Directory* WorkingTree::parent_of(const Operation& operation) {
    auto path = split_key(operation.key);
    for (int links = 0; links <= link_limit; ++links) {
        auto* directory = &root();
        EntryPtr link;
        for (std::size_t i = 0; i + 1 < path.size(); ++i) {
            auto entry = directory->find(path[i]);
            if (entry && entry->kind == Kind::symlink) {
                path = redirect(*entry, path, i + 1);
                link = std::move(entry);
                break;
            }
            if (!operation.entry && (!entry || is_value(*entry))) return nullptr;
            directory = &descend(*directory, path[i], entry);
        }
        if (!link) return directory;
    }
    throw Error(ELOOP, fmt::format("kvs: key '{}': more than {} links", operation.key, link_limit));
}

void WorkingTree::apply_one(const Operation& operation) {
    auto* parent = parent_of(operation);
    if (!parent) return;
    if (!operation.entry) {
        erase(*parent, operation.key.substr(operation.key.rfind('.') + 1));
        return;
    }
    auto old = operation.append ? parent->find(operation.entry->name) : nullptr;
    put(*parent, old ? appended(*old, operation) : stored(operation));
}

EntryPtr WorkingTree::stored(const Operation& operation) {
    if (!operation.blob) return operation.entry;
    return make_entry(operation.entry->name, Kind::valref, reference_data({store_value(operation.value)}));
}

EntryPtr WorkingTree::appended(const Entry& old, const Operation& operation) {
    std::string data;
    switch (old.kind) {
    case Kind::valref:
        data = old.data;
        data.back() = ',';
        data += '"' + store_value(operation.value).to_string() + "\"]";
        break;
    case Kind::val: {
        auto first = store_value(bytes_of(old));
        data = reference_data({first, store_value(operation.value)});
        break;
    }
    case Kind::symlink: throw Error(EOPNOTSUPP, fmt::format("kvs: key '{}': cannot append to a link", operation.key));
    default: throw Error(EISDIR, fmt::format("kvs: key '{}': cannot append to a directory", operation.key));
    }
    return make_entry(old.name, Kind::valref, std::move(data));
}

Blobref WorkingTree::store_value(std::string bytes) {
    auto ref = hasher_(bytes);
    blobs_.push_back({ref, std::move(bytes)});
    return ref;
}

// A long value that was put into the tree by other means than put.
EntryPtr WorkingTree::shortened(const EntryPtr& entry) {
    try {
        return make_entry(entry->name, Kind::valref, reference_data({store_value(bytes_of(*entry))}));
    } catch (const Error&) {
        return entry; // its readers are told
    }
}

Blobref WorkingTree::seal() {
    if (root_) {
        root_ref_ = seal(*root_);
        root_ = nullptr;
        opened_.clear();
        changes_.clear();
    }
    return root_ref_;
}

Blobref WorkingTree::seal(const Directory& directory) {
    auto copy = std::make_shared<Directory>(directory);
    for (const auto& entry : directory.entries()) {
        if (entry->kind == Kind::dir)
            copy->put(make_entry(entry->name, Kind::dirref, reference_data({seal(*entry->directory)})));
        else if (entry->kind == Kind::val && too_long(*entry))
            copy->put(shortened(entry));
    }
    auto bytes = copy->encode();
    auto ref = hasher_(bytes);
    auto opened = opened_.find(&directory);
    auto base = opened != opened_.end() ? opened->second.base : std::nullopt;
    bool unchanged = base == ref;
    if (base && !unchanged) replaced_.push_back(*base);
    if (sealed_.emplace(ref, std::move(copy)).second && !unchanged) blobs_.push_back({ref, std::move(bytes)});
    return ref;
}

} // namespace flux::kvs_store
