#include <flux/treeobj.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using flux::Blobref;
using flux::Error;
using flux::Json;
namespace treeobj = flux::treeobj;

namespace {
Blobref sha1(const char* hex) { return Blobref::parse(std::string("sha1-") + hex); }

/// A directory of what `entries` lists.
template <class... More> Json dir_of(More&&... entries) {
    auto dir = treeobj::make_dir();
    dir["data"].update(Json::object(std::forward<More>(entries)...));
    return dir;
}
} // namespace

TEST_CASE("treeobj: canonical bytes of stored directories", "[treeobj]") {
    auto val = [](std::string_view bytes) { return treeobj::make_val(bytes); };
    struct Row {
        Json dir;
        std::string bytes;
    };
    std::vector<Row> rows;
    rows.push_back({treeobj::make_dir(), R"({"data":{},"type":"dir","ver":1})"});
    rows.push_back(
        {dir_of("a", val("hello")), R"({"data":{"a":{"data":"aGVsbG8=","type":"val","ver":1}},"type":"dir","ver":1})"});
    rows.push_back(
        {dir_of("big", treeobj::make_valref(sha1("cef734ba81a024479e09eb5a75b6ddae62e6abf1")), "a", val("hello")),
         R"({"data":{"a":{"data":"aGVsbG8=","type":"val","ver":1},"big":{"data":["sha1-cef734ba81a024479e09eb5a75b6ddae62e6abf1"],"type":"valref","ver":1}},"type":"dir","ver":1})"});
    rows.push_back(
        {dir_of("d", treeobj::make_dirref(sha1("42e7697b18320ae0faf6c62bb7ea2c91863d506b"))),
         R"({"data":{"d":{"data":["sha1-42e7697b18320ae0faf6c62bb7ea2c91863d506b"],"type":"dirref","ver":1}},"type":"dir","ver":1})"});
    std::vector<Blobref> log{sha1("fe05bcdcdc4928012781a5f1a2a77cbb5398e106"),
                             sha1("ad782ecdac770fc6eb9a62e44f90873fb97fb26b")};
    rows.push_back(
        {dir_of("log", treeobj::make_valref(log)),
         R"({"data":{"log":{"data":["sha1-fe05bcdcdc4928012781a5f1a2a77cbb5398e106","sha1-ad782ecdac770fc6eb9a62e44f90873fb97fb26b"],"type":"valref","ver":1}},"type":"dir","ver":1})"});
    rows.push_back(
        {dir_of("l1", treeobj::make_symlink("d.e.f"), "l2", treeobj::make_symlink("x.y", "other")),
         R"({"data":{"l1":{"data":{"target":"d.e.f"},"type":"symlink","ver":1},"l2":{"data":{"namespace":"other","target":"x.y"},"type":"symlink","ver":1}},"type":"dir","ver":1})"});
    rows.push_back(
        {dir_of("b", val("1"), "a", val("hello"), "é", val("x"), "q\"uote", val("y"), "tab\tkey", val("z"), "/s",
                val("1")),
         R"({"data":{"/s":{"data":"MQ==","type":"val","ver":1},"a":{"data":"aGVsbG8=","type":"val","ver":1},"b":{"data":"MQ==","type":"val","ver":1},"q\"uote":{"data":"eQ==","type":"val","ver":1},"tab\tkey":{"data":"eg==","type":"val","ver":1},"é":{"data":"eA==","type":"val","ver":1}},"type":"dir","ver":1})"});
    auto odd = Json::object();
    std::string odd_bytes;
    for (auto [key, written] : {std::pair("z\U0001F600", "z\U0001F600"),
                                {"u\u2028", "u\u2028"},
                                {"nl\n", "nl\\n"},
                                {"e\x1b", "e\\u001B"},
                                {"d\x7f", "d\x7f"},
                                {"b\\s", "b\\\\s"}}) {
        odd.set(key, val("1"));
        odd_bytes = ",\"" + std::string(written) + "\":{\"data\":\"MQ==\",\"type\":\"val\",\"ver\":1}" + odd_bytes;
    }
    auto odd_dir = treeobj::make_dir();
    odd_dir.set("data", std::move(odd));
    rows.push_back({std::move(odd_dir), R"({"data":{)" + odd_bytes.substr(1) + R"(},"type":"dir","ver":1})"});
    for (const auto& row : rows) {
        CHECK(treeobj::encode(row.dir) == row.bytes);
        CHECK(treeobj::encode(treeobj::decode(row.bytes)) == row.bytes);
    }
}

TEST_CASE("treeobj: readers", "[treeobj]") {
    auto blob = sha1("fe05bcdcdc4928012781a5f1a2a77cbb5398e106");
    auto val = treeobj::make_val("hello");
    CHECK(treeobj::type_of(val) == treeobj::Type::val);
    CHECK(treeobj::value_of(val) == "hello");
    CHECK(treeobj::value_of(treeobj::make_val("")).empty());
    CHECK(treeobj::blobrefs_of(treeobj::make_dirref(blob)) == std::vector{blob});
    CHECK(treeobj::blobrefs_of(treeobj::make_valref(blob)) == std::vector{blob});
    auto symlink = treeobj::make_symlink("a.b", "ns");
    auto link = treeobj::link_of(symlink);
    CHECK(link.target == "a.b");
    CHECK(link.name_space == "ns");
    auto dir = dir_of("v", std::move(val));
    CHECK(treeobj::entries_of(dir).size() == 1);
    CHECK_THROWS_WITH(treeobj::value_of(dir), "treeobj: not a val");
    CHECK_THROWS_AS(treeobj::blobrefs_of(dir), Error);
    CHECK_THROWS_AS(treeobj::entries_of(symlink), Error);
    CHECK_THROWS_AS(treeobj::make_valref(std::span<const Blobref>()), Error);
    auto bad = treeobj::decode(R"({"data":"x","type":"val","ver":1})");
    CHECK_THROWS_AS(treeobj::value_of(bad), Error);
}

TEST_CASE("treeobj: what is not valid", "[treeobj]") {
    std::string text =
        GENERATE("", "{", "1", "{}", "[]", R"({"data":"","type":"val"})", R"({"data":"","type":"val","ver":2})",
                 R"({"data":"","type":"val","ver":1.0})", R"({"data":"","type":"val","ver":1,"x":1})",
                 R"({"type":"val","ver":1,"x":1})", R"({"data":1,"type":"val","ver":1})",
                 R"({"data":"","type":1,"ver":1})", R"({"data":{},"type":"hdir","ver":1})",
                 R"({"data":[],"type":"valref","ver":1})", R"({"data":["sha1-00"],"type":"valref","ver":1})",
                 R"({"data":["sha1-FE05bcdcdc4928012781a5f1a2a77cbb5398e106"],"type":"valref","ver":1})",
                 R"({"data":"sha1-fe05bcdcdc4928012781a5f1a2a77cbb5398e106","type":"dirref","ver":1})",
                 R"({"data":[],"type":"dir","ver":1})", R"({"data":{"a":1},"type":"dir","ver":1})",
                 R"({"data":{"a":{"data":{"b":{}},"type":"dir","ver":1}},"type":"dir","ver":1})",
                 R"({"data":"a","type":"symlink","ver":1})", R"({"data":{},"type":"symlink","ver":1})",
                 R"({"data":{"target":1},"type":"symlink","ver":1})",
                 R"({"data":{"target":"a","namespace":1},"type":"symlink","ver":1})",
                 R"({"data":{"target":"a","x":"b"},"type":"symlink","ver":1})");
    INFO(text);
    try {
        treeobj::decode(text);
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.errnum() == EINVAL);
    }
}
