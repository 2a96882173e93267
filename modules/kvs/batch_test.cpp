#include "batch.hpp"
#include "store_for_test.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::kvs_store;
using kvs::Transaction;

namespace {

struct Fixture {
    TestStore store;
    kvs::Root start{store.root, 7};
    Batch batch{store.hasher, store.source()};

    // Errno of a failure, 0 when it is applied.
    int apply(const std::string& name_space, std::size_t number, const Transaction& txn, bool alone = false) {
        auto payload = txn.to_json();
        auto operations = decode_operations(payload);
        try {
            while (auto missing = batch.apply(name_space, start, operations, number, alone)) store.load(*missing);
        } catch (const Error& error) {
            return error.errnum();
        }
        return 0;
    }
    // The sequences of a namespace with the transactions of each: `8:0,1 9:2`.
    std::string versions(const std::string& name_space) {
        std::string out;
        auto at = batch.versions().find(name_space);
        if (at == batch.versions().end()) return out;
        for (const auto& version : at->second) {
            out += (out.empty() ? "" : " ") + std::to_string(version.root.sequence) + ":";
            for (auto number : version.transactions) out += std::to_string(number);
        }
        return out;
    }
};

} // namespace

TEST_CASE("batch: transactions share a version unless one wants its own", "[kvs]") {
    Fixture f;
    CHECK(f.apply("primary", 0, Transaction().put("a", "0")) == 0);
    CHECK(f.apply("primary", 1, Transaction().put("a", "1")) == 0);
    CHECK(f.apply("other", 2, Transaction().put("a", "2")) == 0);
    CHECK(f.apply("primary", 3, Transaction().put("a", "3"), true) == 0);
    CHECK(f.apply("primary", 4, Transaction().put("a", "4"), true) == 0);
    CHECK(f.apply("primary", 5, Transaction().put("a", "5")) == 0);
    f.batch.seal();
    CHECK(f.versions("primary") == "8:01 9:3 10:4 11:5");
    CHECK(f.versions("other") == "8:2");
    for (const auto& blob : f.batch.blobs()) f.store.blobs[blob.ref] = blob.bytes;
    std::string values;
    for (const auto& version : f.batch.versions().at("primary")) {
        f.store.root = version.root.ref;
        values += f.store.lookup("a");
    }
    CHECK(values == "1345");
}

TEST_CASE("batch: what fails is in no version", "[kvs]") {
    Fixture f;
    CHECK(f.apply("primary", 0, Transaction().mkdir("d")) == 0);
    CHECK(f.apply("primary", 1, Transaction().put("x", "1").append("d", "2")) == EISDIR);
    CHECK(f.apply("primary", 2, Transaction().append("d", "2"), true) == EISDIR);
    CHECK(f.apply("only-failures", 3, Transaction().symlink("l", "l").put("l.x", "1")) == ELOOP);
    f.batch.seal();
    CHECK(f.versions("primary") == "8:0");
    CHECK(f.versions("only-failures") == "");
    CHECK(f.batch.blobs().size() == 2); // the root and `d`
}

TEST_CASE("batch: an empty transaction makes a version with the same tree", "[kvs]") {
    Fixture f;
    CHECK(f.apply("primary", 0, Transaction()) == 0);
    f.batch.seal();
    CHECK(f.versions("primary") == "8:0");
    CHECK(f.batch.versions().at("primary").front().root.ref == f.start.ref);
    CHECK(f.batch.blobs().empty());
}

TEST_CASE("batch: the directories that were replaced are known", "[kvs]") {
    Fixture f;
    f.apply("primary", 0, Transaction().put("a.b", "1"));
    f.batch.seal();
    std::vector<Blobref> replaced;
    f.batch.for_each_replaced([&](const Blobref& ref) { replaced.push_back(ref); });
    CHECK(replaced == std::vector<Blobref>{f.start.ref});
}
