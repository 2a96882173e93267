#include "lookup.hpp"

#include <flux/kvs.hpp>
#include <flux/treeobj.hpp>

#include <cerrno>

namespace flux::kvs_store {

namespace flag = kvs_protocol;

Lookup::Lookup(std::string_view key, int flags, const Blobref& root) : key_(kvs::normalize_key(key)), flags_(flags) {
    levels_.push_back({root, split_key(key_), 0, nullptr});
}

// Whether what is found now is the end of the whole path.
bool Lookup::last() const noexcept {
    for (const auto& level : levels_)
        if (level.position + 1 < level.path.size()) return false;
    return true;
}

Lookup::Step Lookup::step(const DirectorySource& source) {
    for (;;) {
        auto& level = levels_.back();
        EntryPtr found;
        if (level.path.empty()) {
            found = make_entry("", Kind::dirref, reference_data({level.root}));
        } else {
            if (!level.directory) {
                level.directory = source(level.root);
                if (!level.directory) return NeedDirectory{level.root};
            }
            found = level.directory->find(level.path[level.position]);
            if (!found) throw Error(ENOENT);
        }
        if (found->kind == Kind::symlink &&
            !(last() && levels_.size() == 1 && flags_ & (flag::readlink | flag::treeobj))) {
            if (auto need = follow(*found)) return *need;
            continue;
        }
        // The end of a level is what the link of the level above was for.
        auto outer = levels_.size();
        while (outer > 0 && levels_[outer - 1].position + 1 >= levels_[outer - 1].path.size()) --outer;
        if (outer == 0) return result(*found, source);
        DirectoryPtr below;
        if (found->kind == Kind::dir)
            below = found->directory;
        else if (found->kind == Kind::dirref)
            below = source(directory_blob(*found));
        else
            throw Error(ENOENT);
        if (!below) return NeedDirectory{directory_blob(*found)};
        levels_.resize(outer);
        ++levels_.back().position;
        levels_.back().directory = std::move(below);
    }
}

std::optional<Lookup::NeedNamespace> Lookup::follow(const Entry& link) {
    if (levels_.size() > link_limit) throw Error(ELOOP);
    auto data = Json::parse(link.data);
    target_ = split_key(kvs::normalize_key(data.get<std::string_view>("target")));
    if (data.contains("namespace")) return NeedNamespace{data.get<std::string>("namespace")};
    enter(levels_.back().root);
    return std::nullopt;
}

void Lookup::enter(const Blobref& root) { levels_.push_back({root, std::move(target_), 0, nullptr}); }

Lookup::Step Lookup::result(const Entry& found, const DirectorySource& source) const {
    bool is_directory = found.kind == Kind::dir || found.kind == Kind::dirref;
    bool is_root = levels_.size() == 1 && levels_.front().path.empty();
    if (flags_ & flag::treeobj) return to_json(found);
    if (flags_ & flag::readlink) {
        if (is_root) throw Error(EISDIR);
        if (found.kind != Kind::symlink) throw Error(EINVAL);
        return to_json(found);
    }
    if (flags_ & flag::readdir) {
        if (!is_directory) throw Error(ENOTDIR);
        if (found.kind == Kind::dir) return to_json(found);
        auto directory = source(directory_blob(found));
        if (!directory) return NeedDirectory{directory_blob(found)};
        return Json::parse(directory->encode());
    }
    if (is_directory) throw Error(EISDIR);
    if (found.kind == Kind::valref) return Blobs{blobs_of(found)};
    return to_json(found);
}

} // namespace flux::kvs_store
