#include "store_for_test.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>

using namespace flux;
using namespace flux::kvs_store;
using kvs::Transaction;

namespace {

// Errno of decoding or applying these operations.
std::string refusal(TestStore& store, Json ops) {
    try {
        auto operations = decode_operations(ops);
        auto tree = store.tree();
        while (auto missing = tree.apply(operations)) store.load(*missing);
    } catch (const Error& error) {
        return TestStore::errno_name(error.errnum());
    }
    return "";
}

Json op(std::string_view key, Json dirent, int flags = 0) {
    return Json::object("key", key, "flags", flags, "dirent", std::move(dirent));
}
Json val(std::string_view data) { return Json::object("ver", 1, "type", "val", "data", data); }

void mixed_tree(TestStore& store) {
    store.commit(Transaction().put("a.b.c", "testkey"));
    store.commit(Transaction().put("short", "hi"));
    store.commit(Transaction().put("large", std::string(300, 'z')));
    store.commit(Transaction().symlink("y", "a.b.c"));
    store.commit(Transaction().symlink("z", "otherthing", "smurf"));
    store.commit(Transaction().append("log", "one"));
    store.commit(Transaction().append("log", "two"));
    store.commit(Transaction().put("nothing", ""));
    store.commit(Transaction().mkdir("empty"));
}

} // namespace

TEST_CASE("tree: the vectors of an empty and a flat tree", "[kvs]") {
    TestStore store;
    CHECK(store.root.to_string() == "sha1-c0a9faf907dda6216fd73bf81d0b3b21a1a8cb91");
    CHECK(store.commit(Transaction().put("a", "hello")) == "sha1-4fbb6d6278d97232e29423f8b1a58bfd4800d06d");
    CHECK(store.root_bytes() == R"({"data":{"a":{"data":"aGVsbG8=","type":"val","ver":1}},"type":"dir","ver":1})");
    CHECK(store.commit(Transaction().put("big", std::string(55, 'x'))) ==
          "sha1-622d2694ce59904d4fe2ca75ccc04a987660c0c5");
    CHECK(store.lookup("big") == std::string(55, 'x'));
    store.commit(Transaction().put("big", std::string(54, 'x')));
    CHECK(Directory::decode(store.root_bytes())->find("big")->kind == Kind::val);
}

TEST_CASE("tree: the vectors of nested directories, with both hashes", "[kvs]") {
    TestStore sha1, sha256(HashKind::sha256);
    CHECK(sha1.commit(Transaction().put("d.e.f", "1")) == "sha1-f17fd0a61203066a4691d131b5ac5e19a9414259");
    CHECK(sha256.commit(Transaction().put("d.e.f", "1")) ==
          "sha256-76a197e47a04037081a12348cda405d837fd74309c6f3e38bbcece02eab88233");
}

TEST_CASE("tree: the vectors of appends, links and empty directories", "[kvs]") {
    TestStore log, links, empty;
    log.commit(Transaction().append("log", "one"));
    CHECK(log.commit(Transaction().append("log", "two")) == "sha1-78400db27cc049cfc5fcc9a34ddb87e78305c870");
    CHECK(log.lookup("log") == "onetwo");
    CHECK(links.commit(Transaction().symlink("l1", "d.e.f").symlink("l2", "x.y", "other")) ==
          "sha1-ff76805965821a55c9b23cd2340cf1292ae798b9");
    CHECK(empty.commit(Transaction().mkdir("empty")) == "sha1-1cb7b9359a97b96be3e0ca9293e51e9dcbd82da3");
}

TEST_CASE("tree: the vectors of order and escapes", "[kvs]") {
    TestStore order, odd;
    Transaction txn;
    txn.put("b", "1").put("a", "hello").put("é", "x").put("q\"uote", "y").put("tab\tkey", "z").put("/s", "1");
    CHECK(order.commit(txn) == "sha1-b25f7fdf35f7abd3426cd5e4ca564c0be2503907");
    Transaction more;
    for (const char* key : {"b\\s", "d\x7f", "e\x1b", "nl\n", "u\u2028", "z\U0001F600"}) more.put(key, "1");
    CHECK(odd.commit(more) == "sha1-cfb2463ee9aa77ee08047393550406d4d2adfdf0");
}

TEST_CASE("tree: the vectors of a mixed tree", "[kvs]") {
    TestStore store, sha256(HashKind::sha256);
    mixed_tree(store);
    mixed_tree(sha256);
    CHECK(store.root.to_string() == "sha1-618390e36bacc1de4f429ed158e99f688a524637");
    CHECK(sha256.root.to_string() == "sha256-4302fb8f9e63aad5b450472e08647331301fb796a7ba49256b342c1a8f9895d7");
}

TEST_CASE("tree: many transactions on one working tree are as good as one after the other", "[kvs]") {
    TestStore store;
    auto tree = store.tree();
    store.apply(tree, Transaction().put("a.b.c", "testkey").put("short", "hi").put("large", std::string(300, 'z')));
    store.apply(tree, Transaction().symlink("y", "a.b.c").symlink("z", "otherthing", "smurf").append("log", "one"));
    tree.seal();
    store.apply(tree, Transaction().append("log", "two").put("nothing", "").mkdir("empty"));
    CHECK(store.seal(tree).to_string() == "sha1-618390e36bacc1de4f429ed158e99f688a524637");
    CHECK(store.lookup("log") == "onetwo");
}

TEST_CASE("tree: a transaction that fails leaves nothing", "[kvs]") {
    TestStore store;
    store.commit(Transaction().put("a.b", "1").put("x", "0").symlink("link", "x"));
    auto before = store.root;
    auto tree = store.tree();
    Transaction bad;
    bad.put("a.c", "2").unlink("x").put("new.dir.key", "3").put("a.b.under", "4").append("link", "5");
    CHECK_THROWS_AS(store.apply(tree, bad), Error);
    CHECK(tree.seal() == before);
    CHECK(tree.take_blobs().empty());

    auto mixed = store.tree();
    store.apply(mixed, Transaction().put("a.good", "1"));
    CHECK_THROWS_AS(store.apply(mixed, bad), Error);
    store.apply(mixed, Transaction().put("a.fine", "1"));
    store.seal(mixed);
    CHECK(store.lookup("a.good") == "1");
    CHECK(store.lookup("a.fine") == "1");
    CHECK(store.lookup("a.b") == "1");
    CHECK(store.lookup("x") == "0");
    CHECK(store.lookup("new") == "ENOENT");
}

TEST_CASE("tree: what a set does to what is there", "[kvs]") {
    TestStore store;
    store.commit(Transaction().put("v", "1").put("d.k", "1").symlink("l", "d").symlink("n", "d", "other"));
    store.commit(Transaction().put("v.below", "2"));
    CHECK(store.lookup("v.below") == "2");
    store.commit(Transaction().put("l.k2", "through"));
    CHECK(store.lookup("d.k2") == "through");
    CHECK(refusal(store, Json::array_of(op("n.k", val("")))) == "EINVAL");
    store.commit(Transaction().put("l", "replaced"));
    CHECK(store.lookup("l") == "replaced");
    CHECK(store.lookup("d.k") == "1");
    store.commit(Transaction().mkdir("d"));
    CHECK(store.lookup("d.k") == "ENOENT");
    CHECK(store.lookup("d", kvs_protocol::readdir) == R"({"data":{},"type":"dir","ver":1})");
    store.commit(Transaction().unlink("v").unlink("missing").unlink("no.such.key").unlink("l.below"));
    CHECK(store.lookup("v") == "ENOENT");
    CHECK(store.lookup("l") == "replaced");
    CHECK(store.lookup("no") == "ENOENT");
}

TEST_CASE("tree: appends", "[kvs]") {
    TestStore store;
    store.commit(Transaction().mkdir("d").symlink("l", "x").put("v", "ab"));
    CHECK(refusal(store, Json::array_of(op("d", val("eA=="), 32))) == "EISDIR");
    CHECK(refusal(store, Json::array_of(op("l", val("eA=="), 32))) == "EOPNOTSUPP");
    CHECK(refusal(store, Json::array_of(op("v", treeobj::make_dir(), 32))) == "EPROTO");
    store.commit(Transaction().append("v", ""));
    CHECK(blobs_of(*Directory::decode(store.root_bytes())->find("v")).size() == 2);
    store.commit(Transaction().append("v", "c").append("v", "d"));
    CHECK(store.lookup("v") == "abcd");
}

TEST_CASE("tree: operations that are refused", "[kvs]") {
    TestStore store;
    CHECK(refusal(store, Json::object()) == "EPROTO");
    CHECK(refusal(store, Json::array_of(Json::object("key", "a", "flags", 0))) == "EPROTO");
    CHECK(refusal(store, Json::array_of(op("a", Json::object("ver", 2, "type", "val", "data", "")))) == "EINVAL");
    CHECK(refusal(store, Json::array_of(op(".", val("")))) == "EINVAL");
    CHECK(refusal(store, Json::array_of(op("..", val("")))) == "EINVAL");
    CHECK(refusal(store, Json::array_of(op("", val("")))) == "EINVAL");
    CHECK(refusal(store, Json::array_of(op("a", val("!!")))) == "");
    CHECK(refusal(store, Json::array_of(op("a", val(std::string(80, '!'))))) == "EPROTO");
    CHECK(refusal(store, Json::array_of()) == "");
}

TEST_CASE("tree: loops of links end", "[kvs]") {
    TestStore store;
    store.commit(Transaction().symlink("a", "a").symlink("b", "c").symlink("c", "b"));
    CHECK(refusal(store, Json::array_of(op("a.b", val("")))) == "ELOOP");
    CHECK(refusal(store, Json::array_of(op("b.x", val("")))) == "ELOOP");
    CHECK(store.lookup("a") == "ELOOP");
    CHECK(store.lookup("a", kvs_protocol::readlink) == R"({"data":{"target":"a"},"type":"symlink","ver":1})");
}

TEST_CASE("tree: only what is touched is loaded, and all at once where it can be", "[kvs]") {
    TestStore store;
    Transaction txn;
    for (const char* top : {"a", "b", "c"})
        for (const char* below : {"x", "y"}) txn.put(std::string(top) + "." + below + ".k", std::string(top) + below);
    store.commit(txn);
    store.loads = 0;
    auto ops = Json::array_of(op("a.x.k", val("Mg==")), op("b.y.k", val("Mw==")));
    auto operations = decode_operations(ops);
    auto tree = store.tree();
    std::size_t rounds = 0;
    for (;; ++rounds) {
        std::unordered_set<Blobref> missing;
        tree.find_missing(operations, missing);
        if (missing.empty()) break;
        for (const auto& ref : missing) store.load(ref);
    }
    CHECK(rounds == 3); // root, then the tops, then below
    CHECK(store.loads == 5);
    CHECK(!tree.apply(operations));
    tree.seal();
    CHECK(tree.take_blobs().size() == 5);
}

TEST_CASE("tree: an inline directory is stored piece by piece", "[kvs]") {
    TestStore inlined, plain;
    auto object = treeobj::make_dir();
    auto below = treeobj::make_dir();
    below["data"].set("big", treeobj::make_val(std::string(100, 'q')));
    object["data"].set("below", std::move(below));
    Transaction txn;
    txn.put_treeobj("top", object);
    CHECK(inlined.commit(txn) == plain.commit(Transaction().put("top.below.big", std::string(100, 'q'))));
    CHECK(inlined.commit(Transaction().put("top.below.k", "1")) == plain.commit(Transaction().put("top.below.k", "1")));
}

TEST_CASE("tree: what guests may commit", "[kvs]") {
    auto check = [](const Transaction& txn) -> std::string {
        try {
            auto ops = txn.to_json();
            check_guest(decode_operations(ops));
        } catch (const Error& error) {
            CHECK(error.errnum() == EPERM);
            return error.text();
        }
        return "";
    };
    CHECK(check(Transaction().put("a", "1").append("b", "2").unlink("c").mkdir("d")) == "");
    CHECK(check(Transaction().symlink("a", "b")) == "guests may not commit symlink objects");
    auto full = treeobj::make_dir();
    full["data"].set("x", treeobj::make_val("1"));
    Transaction txn;
    txn.put_treeobj("a", full);
    CHECK(check(txn) == "guests may not commit non-empty dir objects");
}

TEST_CASE("tree: keys", "[kvs]") {
    for (auto [key, normal] :
         {std::pair{"a.b", "a.b"}, {"..", "."}, {".", "."}, {".a..b.", "a.b"}, {"...", "."}, {"", ""}})
        CHECK(kvs::normalize_key(key) == normal);
    CHECK(split_key(".").empty());
    CHECK(split_key("a.bc.d") == std::vector<std::string>{"a", "bc", "d"});
}
