// Transactions that become durable together: the new versions of the namespaces they belong to, and the blobs of these.
#pragma once

#include "working_tree.hpp"

#include <flux/kvs.hpp>

#include <map>
#include <string>
#include <vector>

namespace flux::kvs_store {

class Batch {
public:
    /// A version of a namespace, and the numbers of the transactions it has over the one before.
    struct Version {
        kvs::Root root;
        std::vector<std::size_t> transactions;
        bool closed = false;
    };

    /// \param hasher  must outlive this.
    Batch(Hasher& hasher, DirectorySource source) : hasher_(hasher), source_(std::move(source)) {}

    /// As WorkingTree::find_missing(); `current` is the version of the namespace before this batch.
    void find_missing(const std::string& name_space, const kvs::Root& current, const Operations& operations,
                      std::unordered_set<Blobref>& missing);
    /// As WorkingTree::apply(). \param alone  in a version of its own.
    std::optional<Blobref> apply(const std::string& name_space, const kvs::Root& current, const Operations& operations,
                                 std::size_t transaction, bool alone);
    /// Make the versions. Nothing is applied after that.
    void seal();

    /// The versions by namespace, oldest first.
    const std::map<std::string, std::vector<Version>>& versions() const noexcept { return versions_; }
    const std::vector<Blob>& blobs() const noexcept { return blobs_; }
    /// Calls `visit(ref, directory)` for each directory of the versions.
    template <class F> void for_each_directory(F&& visit) const {
        for (const auto& [name, tree] : trees_)
            for (const auto& [ref, directory] : tree.sealed()) visit(ref, directory);
    }

    /// Calls `visit(ref)` for each directory that another has taken the place of.
    template <class F> void for_each_replaced(F&& visit) const {
        for (const auto& [name, tree] : trees_)
            for (const auto& ref : tree.replaced()) visit(ref);
    }

private:
    WorkingTree& tree_of(const std::string& name_space, const kvs::Root& current);
    void close(const std::string& name_space);

    Hasher& hasher_;
    DirectorySource source_;
    std::map<std::string, WorkingTree> trees_;
    std::map<std::string, std::vector<Version>> versions_;
    std::vector<Blob> blobs_;
};

} // namespace flux::kvs_store
