#include "store_for_test.hpp"

#include <catch2/catch.hpp>

#include <cstring>

using namespace flux;
using namespace flux::kvs_store;
using kvs::Transaction;

TEST_CASE("lookup: what is found, by kind and flags", "[kvs]") {
    TestStore store;
    store.commit(Transaction().put("v", "1").put("big", std::string(60, 'b')).put("d.k", "2").symlink("l", "v"));
    store.commit(Transaction().symlink("ld", "d").symlink("lost", "nowhere"));
    struct Case {
        const char* key;
        const char* plain;
        const char* dir;
        const char* link;
    };
    for (auto c : {Case{"v", "1", "ENOTDIR", "EINVAL"}, Case{"d", "EISDIR", nullptr, "EINVAL"},
                   Case{"l", "1", "ENOTDIR", nullptr}, Case{"ld", "EISDIR", nullptr, nullptr},
                   Case{"ld.k", "2", "ENOTDIR", "EINVAL"}, Case{"lost", "ENOENT", "ENOENT", nullptr},
                   Case{"none", "ENOENT", "ENOENT", "ENOENT"}, Case{"v.x", "ENOENT", "ENOENT", "ENOENT"},
                   Case{"big.x", "ENOENT", "ENOENT", "ENOENT"}, Case{"lost.x", "ENOENT", "ENOENT", "ENOENT"},
                   Case{".", "EISDIR", nullptr, "EISDIR"}}) {
        INFO(c.key);
        CHECK(store.lookup(c.key) == c.plain);
        if (c.dir) CHECK(store.lookup(c.key, kvs_protocol::readdir) == c.dir);
        if (c.link) CHECK(store.lookup(c.key, kvs_protocol::readlink) == c.link);
    }
    CHECK(store.lookup("big") == std::string(60, 'b'));
    CHECK(store.lookup("ld", kvs_protocol::readdir) ==
          R"({"data":{"k":{"data":"Mg==","type":"val","ver":1}},"type":"dir","ver":1})");
    CHECK(store.lookup("l", kvs_protocol::treeobj) == R"({"data":{"target":"v"},"type":"symlink","ver":1})");
    CHECK(store.lookup(".", kvs_protocol::treeobj) ==
          R"({"data":[")" + store.root.to_string() + R"("],"type":"dirref","ver":1})");
    CHECK(store.lookup(".d.", kvs_protocol::readdir) == store.lookup("d", kvs_protocol::readdir));
}

TEST_CASE("lookup: links into other namespaces", "[kvs]") {
    TestStore store;
    store.namespaces["other"] = store.root;
    store.commit(Transaction().put("x.y", "there").symlink("inner", "x"));
    store.namespaces["other"] = store.root;
    store.root = store.put(Directory().encode());
    store.commit(Transaction().symlink("l", "inner.y", "other").symlink("all", ".", "other").put("x.y", "here"));
    CHECK(store.lookup("l") == "there");
    CHECK(store.lookup("all.x.y") == "there");
    CHECK(store.lookup("all.inner.y") == "here"); // a target is looked for in the tree whose path it is on
}

TEST_CASE("lookup: ten links, not eleven", "[kvs]") {
    TestStore store;
    Transaction txn;
    txn.put("l0", "end");
    for (int i = 1; i <= 11; ++i) txn.symlink("l" + std::to_string(i), "l" + std::to_string(i - 1));
    store.commit(txn);
    CHECK(store.lookup("l10") == "end");
    CHECK(store.lookup("l11") == "ELOOP");
}

TEST_CASE("lookup: damaged trees", "[kvs]") {
    TestStore store;
    auto a = store.put("no json"), b = store.put(R"({"data":"","type":"val","ver":1})");
    auto two = Json::object("ver", 1, "type", "dirref", "data", Json::array_of(a, b));
    Transaction txn;
    txn.put_treeobj("bad", treeobj::make_dirref(a)).put_treeobj("val", treeobj::make_dirref(b)).put_treeobj("two", two);
    store.commit(txn);
    CHECK(store.lookup("bad.x") == "ENOTRECOVERABLE");
    CHECK(store.lookup("val", kvs_protocol::readdir) == "ENOTRECOVERABLE");
    CHECK(store.lookup("two.x") == "ENOTRECOVERABLE");
}
