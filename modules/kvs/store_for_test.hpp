// A blob store in memory, and one namespace on it: what the tests of the core stand on.
#pragma once

#include "lookup.hpp"
#include "working_tree.hpp"

#include <flux/kvs.hpp>

#include <map>

namespace flux::kvs_store {

struct TestStore {
    explicit TestStore(HashKind kind = HashKind::sha1) : hasher(kind) { root = put(Directory().encode()); }

    Blobref put(std::string bytes) {
        auto ref = hasher(bytes);
        blobs[ref] = std::move(bytes);
        return ref;
    }
    // Only what was loaded is in memory, so that each directory is missing once.
    DirectorySource source() {
        return [this](const Blobref& ref) { return loaded.contains(ref) ? loaded.at(ref) : nullptr; };
    }
    void load(const Blobref& ref) {
        ++loads;
        loaded[ref] = Directory::decode(blobs.at(ref));
    }
    WorkingTree tree() { return WorkingTree(root, hasher, source()); }

    void apply(WorkingTree& tree, const kvs::Transaction& txn) {
        auto payload = txn.to_json();
        auto operations = decode_operations(payload);
        while (auto missing = tree.apply(operations)) load(*missing);
    }
    Blobref seal(WorkingTree& tree) {
        root = tree.seal();
        for (auto& blob : tree.take_blobs()) blobs[blob.ref] = std::move(blob.bytes);
        loaded.clear();
        return root;
    }
    // Commit one transaction; its root as text.
    std::string commit(const kvs::Transaction& txn) {
        auto working = tree();
        apply(working, txn);
        return seal(working).to_string();
    }
    std::string root_bytes() const { return blobs.at(root); }

    // The value at a key or the tree object that is there, as text; the errno of a failure.
    std::string lookup(std::string_view key, int flags = 0) {
        try {
            Lookup walk(key, flags, root);
            for (;;) {
                auto step = walk.step(source());
                if (auto* need = std::get_if<Lookup::NeedDirectory>(&step)) {
                    load(need->ref);
                } else if (auto* need = std::get_if<Lookup::NeedNamespace>(&step)) {
                    walk.enter(namespaces.at(need->name));
                } else if (auto* value = std::get_if<Lookup::Blobs>(&step)) {
                    std::string bytes;
                    for (const auto& ref : value->refs) bytes += blobs.at(ref);
                    return bytes;
                } else {
                    auto& object = std::get<Json>(step);
                    return flags == 0 ? treeobj::value_of(object) : object.dump_sorted();
                }
            }
        } catch (const Error& error) {
            return errno_name(error.errnum());
        }
    }
    static std::string errno_name(int errnum) { return ::strerrorname_np(errnum); }

    Hasher hasher;
    std::map<Blobref, std::string> blobs;
    std::map<Blobref, DirectoryPtr> loaded;
    std::map<std::string, Blobref> namespaces;
    Blobref root;
    int loads = 0;
};

} // namespace flux::kvs_store
