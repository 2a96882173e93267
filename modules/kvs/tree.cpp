#include "tree.hpp"

#include <flux/treeobj.hpp>

#include <algorithm>
#include <cerrno>

namespace flux::kvs_store {
namespace {

constexpr const char* kind_names[] = {"val", "valref", "symlink", "dirref", "dir"}; // by Kind

// What an entry costs besides its texts.
constexpr std::size_t entry_overhead = sizeof(Entry) + 4 * sizeof(void*);

Kind kind_of(treeobj::Type type) {
    switch (type) {
    case treeobj::Type::val: return Kind::val;
    case treeobj::Type::valref: return Kind::valref;
    case treeobj::Type::dir: return Kind::dir;
    case treeobj::Type::dirref: return Kind::dirref;
    case treeobj::Type::symlink: return Kind::symlink;
    }
    return Kind::val;
}

// As the canonical encoding has it: escaped is only what must be.
void append_string(std::string& out, std::string_view text) {
    out += '"';
    for (char c : text) {
        switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\b': out += "\\b"; break;
        case '\f': out += "\\f"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        default:
            if (static_cast<unsigned char>(c) >= 0x20) {
                out += c;
                break;
            }
            out += "\\u00";
            out += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
            out += "0123456789ABCDEF"[c & 15];
        }
    }
    out += '"';
}

bool before(const EntryPtr& entry, std::string_view name) noexcept { return entry->name < name; }

} // namespace

const char* name_of(Kind kind) noexcept { return kind_names[static_cast<int>(kind)]; }

EntryPtr make_entry(std::string_view name, Kind kind, std::string data) {
    return std::make_shared<const Entry>(Entry{std::string(name), kind, std::move(data), nullptr});
}

EntryPtr make_entry(std::string_view name, DirectoryPtr directory) {
    return std::make_shared<const Entry>(Entry{std::string(name), Kind::dir, {}, std::move(directory)});
}

EntryPtr make_entry(std::string_view name, JsonView object) {
    auto kind = kind_of(treeobj::type_of(object));
    if (kind == Kind::dir) return make_entry(name, Directory::from_json(object));
    return make_entry(name, kind, object["data"].dump_sorted());
}

std::string reference_data(const std::vector<Blobref>& blobs) {
    std::string data = "[";
    for (const auto& blob : blobs) {
        if (data.size() > 1) data += ',';
        data += '"' + blob.to_string() + '"';
    }
    return data + ']';
}

std::vector<Blobref> blobs_of(const Entry& reference) { return Json::parse(reference.data).as<std::vector<Blobref>>(); }

Blobref directory_blob(const Entry& dirref) {
    auto blobs = blobs_of(dirref);
    if (blobs.size() != 1) throw Error(ENOTRECOVERABLE, "kvs: directory '" + dirref.name + "' is not one blob");
    return blobs.front();
}

Json to_json(const Entry& entry) {
    if (entry.kind == Kind::dir) return Json::parse(entry.directory->encode());
    return Json::object("data", Json::parse(entry.data), "type", name_of(entry.kind), "ver", 1);
}

DirectoryPtr Directory::decode(std::string_view blob) {
    try {
        auto object = treeobj::decode(blob);
        return from_json(object);
    } catch (const Error& error) {
        throw Error(ENOTRECOVERABLE, std::string("kvs: stored directory: ") + error.what());
    }
}

DirectoryPtr Directory::from_json(JsonView object) {
    auto directory = std::make_shared<Directory>();
    auto entries = treeobj::entries_of(object);
    directory->entries_.reserve(entries.size());
    for (auto [name, entry] : entries.members()) directory->entries_.push_back(make_entry(name, entry));
    std::sort(directory->entries_.begin(), directory->entries_.end(),
              [](const EntryPtr& a, const EntryPtr& b) { return a->name < b->name; });
    return directory;
}

EntryPtr Directory::find(std::string_view name) const noexcept {
    auto at = std::lower_bound(entries_.begin(), entries_.end(), name, &before);
    return at != entries_.end() && (*at)->name == name ? *at : nullptr;
}

EntryPtr Directory::put(EntryPtr entry) {
    auto at = std::lower_bound(entries_.begin(), entries_.end(), entry->name, &before);
    if (at != entries_.end() && (*at)->name == entry->name) return std::exchange(*at, std::move(entry));
    entries_.insert(at, std::move(entry));
    return nullptr;
}

EntryPtr Directory::erase(std::string_view name) {
    auto at = std::lower_bound(entries_.begin(), entries_.end(), name, &before);
    if (at == entries_.end() || (*at)->name != name) return nullptr;
    auto old = std::move(*at);
    entries_.erase(at);
    return old;
}

std::string Directory::encode() const {
    std::string out;
    encode_to(out);
    return out;
}

void Directory::encode_to(std::string& out) const {
    out += R"({"data":{)";
    bool first = true;
    for (const auto& entry : entries_) {
        if (!first) out += ',';
        first = false;
        append_string(out, entry->name);
        out += ':';
        if (entry->kind == Kind::dir) {
            entry->directory->encode_to(out);
            continue;
        }
        out += R"({"data":)";
        out += entry->data;
        out += R"(,"type":")";
        out += name_of(entry->kind);
        out += R"(","ver":1})";
    }
    out += R"(},"type":"dir","ver":1})";
}

std::size_t Directory::footprint() const noexcept {
    std::size_t size = sizeof(Directory);
    for (const auto& entry : entries_) {
        size += entry_overhead + entry->name.size() + entry->data.size();
        if (entry->directory) size += entry->directory->footprint();
    }
    return size;
}

std::vector<std::string> split_key(std::string_view key) {
    std::vector<std::string> names;
    if (key == ".") return names;
    for (std::size_t at = 0; at <= key.size();) {
        auto dot = std::min(key.find('.', at), key.size());
        names.emplace_back(key.substr(at, dot - at));
        at = dot + 1;
    }
    return names;
}

} // namespace flux::kvs_store
