#include "collector.hpp"
#include "database.hpp"

#include <flux/hash.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace flux;
namespace fs = std::filesystem;

namespace {

class TemporaryDirectory {
public:
    TemporaryDirectory() {
        std::string name = fs::temp_directory_path() / "content-sqlite-XXXXXX";
        REQUIRE(::mkdtemp(name.data()));
        path_ = name;
    }
    ~TemporaryDirectory() { fs::remove_all(path_); }
    std::string file(const std::string& name = "content.sqlite") const { return path_ / name; }

private:
    fs::path path_;
};

DatabaseOptions at(const std::string& path) {
    DatabaseOptions options;
    options.path = path;
    return options;
}

std::string digest(std::string_view bytes) {
    static Hasher hasher(HashKind::sha1);
    auto blobref = hasher(bytes);
    return std::string(blobref.digest());
}

void commit(Database& database, const std::vector<std::string>& blobs, Json tail) {
    ContentCommitWriter writer;
    for (const auto& blob : blobs) writer.add(digest(blob), blob);
    auto payload = writer.finish(tail);
    database.commit(ContentCommit(payload.bytes(), HashKind::sha1));
}

Json checkpoint(int sequence) {
    return Json::object("version", 1, "rootref", "sha1-c0a9faf907dda6216fd73bf81d0b3b21a1a8cb91", "sequence", sequence);
}

std::vector<int> sequences(Database& database) {
    std::vector<int> found;
    auto rows = database.checkpoints();
    for (auto row : rows.elements()) found.push_back(row["value"].get<int>("sequence"));
    return found;
}

std::string error_of(const DatabaseOptions& options, int errnum = 0) {
    try {
        Database database(options);
    } catch (const Error& error) {
        if (errnum) CHECK(error.errnum() == errnum);
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("database: blobs survive", "[content-sqlite]") {
    TemporaryDirectory directory;
    std::vector<std::string> blobs = {"", "x", std::string(255, 'a'), std::string(256, 'b'), std::string(100000, 'c')};
    std::string noise;
    for (unsigned i = 0, state = 1; i < 5000; ++i)
        noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    blobs.push_back(noise);
    {
        Database database(at(directory.file()));
        for (const auto& blob : blobs) {
            CHECK_FALSE(database.contains(digest(blob)));
            database.store(digest(blob), blob);
            database.store(digest(blob), blob);
        }
        CHECK(database.connection().query_text("PRAGMA auto_vacuum") == "2");
        CHECK(database.connection().query_text("PRAGMA journal_mode") == "wal");
    }
    Database database(at(directory.file()));
    CHECK(database.object_count() == static_cast<int>(blobs.size()));
    for (const auto& blob : blobs) {
        CHECK(database.contains(digest(blob)));
        CHECK(database.load(digest(blob)) == blob);
    }
    CHECK_FALSE(database.load(digest("other")));
    auto& connection = database.connection();
    CHECK(connection.query_int("SELECT count(*) FROM objects WHERE typeof(hash) <> 'text'") == 0);
    CHECK(connection.query_int("SELECT count(*) FROM objects WHERE object IS NULL") == 1);
    CHECK(connection.query_int("SELECT count(*) FROM objects WHERE size = -1") == 3);
}

TEST_CASE("database: a commit is all or nothing and survives the death of the process", "[content-sqlite]") {
    TemporaryDirectory directory;
    auto tail = [](int sequence) {
        return Json::object("hash", "sha1", "checkpoint", checkpoint(sequence), "namespaces",
                            Json::array_of(Json::object("namespace", "job-1", "owner", 100, "flags", 0, "rootref",
                                                        "sha1-x", "rootseq", sequence)),
                            "once",
                            Json::array_of(Json::object("id", "shell-1-0", "seq", sequence, "namespace", "job-1",
                                                        "result", Json::object("rootseq", sequence))));
    };
    pid_t child = ::fork();
    if (child == 0) {
        Database database(at(directory.file()));
        commit(database, {"one", "two"}, tail(1));
        commit(database, {"three"}, tail(2));
        ::_exit(0); // no destructor runs
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    REQUIRE(status == 0);

    Database database(at(directory.file()));
    CHECK(database.load(digest("one")) == "one");
    CHECK(database.load(digest("three")) == "three");
    CHECK(sequences(database) == std::vector<int>{2});
    CHECK(database.namespaces().dump() ==
          R"([{"namespace":"job-1","owner":100,"flags":0,"rootref":"sha1-x","rootseq":2}])");
    CHECK(database.once("shell-1-0")->dump() == R"({"seq":2,"result":{"rootseq":2}})");
    CHECK_FALSE(database.once("shell-2-0"));

    SECTION("a damaged tail undoes the blobs") {
        auto bad = Json::object("checkpoint", checkpoint(3), "namespaces", Json::array_of(Json::object("owner", 1)));
        CHECK_THROWS_WITH(commit(database, {"four"}, std::move(bad)), Catch::Contains("namespace"));
        CHECK_FALSE(database.contains(digest("four")));
        CHECK(sequences(database) == std::vector<int>{2});
        commit(database, {}, tail(4));
        commit(database, {}, tail(5));
        CHECK(sequences(database) == std::vector<int>{5, 2});
    }
    SECTION("a full disk undoes it and says so") {
        auto& connection = database.connection();
        auto pages = connection.query_int("PRAGMA page_count");
        connection.execute(("PRAGMA max_page_count=" + std::to_string(pages + 2)).c_str());
        std::string big;
        for (int i = 0; i < 20000; ++i) big += std::to_string(i * 7919 % 10007);
        try {
            commit(database, {big}, tail(3));
            FAIL("stored on a full disk");
        } catch (const Error& error) {
            CHECK(error.errnum() == ENOSPC);
            CHECK(error.text() == "database or disk is full(13)");
        }
        CHECK_FALSE(database.contains(digest(big)));
        CHECK(sequences(database) == std::vector<int>{2});
        connection.execute("PRAGMA max_page_count=1000000");
        commit(database, {big}, tail(3));
        CHECK(database.load(digest(big)) == big);
        CHECK(sequences(database) == std::vector<int>{3, 2});
    }
    SECTION("a removed namespace takes its answers along") {
        commit(database, {}, Json::object("removed", Json::array_of("job-1")));
        CHECK(database.namespaces().empty());
        CHECK_FALSE(database.once("shell-1-0"));
    }
}

TEST_CASE("database: checkpoints are updated by commits and kept by syncs", "[content-sqlite]") {
    TemporaryDirectory directory;
    auto options = at(directory.file());
    options.max_checkpoints = 3;
    {
        Database database(options);
        CHECK(database.epoch() == 0);
        CHECK(database.checkpoints().empty());
        for (int i : {1, 2, 3}) commit(database, {}, Json::object("checkpoint", checkpoint(i)));
        CHECK(sequences(database) == std::vector<int>{3});
        database.put_checkpoint(checkpoint(4));
        commit(database, {}, Json::object("checkpoint", checkpoint(5)));
        CHECK(sequences(database) == std::vector<int>{5, 3});
        commit(database, {}, Json::object("sync", true, "checkpoint", checkpoint(6)));
        commit(database, {"x"}, Json::object("sync", true));
        CHECK(sequences(database) == std::vector<int>{6, 5, 3});
        CHECK(database.epoch() == 3);
    }
    Database database(options);
    CHECK(database.epoch() == 3);
    commit(database, {}, Json::object("checkpoint", checkpoint(7)));
    commit(database, {}, Json::object("checkpoint", checkpoint(8)));
    CHECK(sequences(database) == std::vector<int>{8, 6, 5});
    database.connection().execute("UPDATE checkpt_v2 SET value = 'x'");
    CHECK_THROWS_WITH(database.checkpoints(), Catch::Contains("damaged"));
}

TEST_CASE("database: one opener", "[content-sqlite]") {
    TemporaryDirectory directory;
    auto options = at(directory.file());
    {
        Database first(options);
        auto text = error_of(options, EBUSY);
        CHECK_THAT(text, Catch::Contains(options.path + " is in use by host ") &&
                             Catch::Contains("pid " + std::to_string(::getpid()) + ", since 2"));
    }
    CHECK(error_of(options).empty());
}

TEST_CASE("database: truncate and preallocate", "[content-sqlite]") {
    TemporaryDirectory directory;
    auto options = at(directory.file());
    { Database(options).store(digest("x"), "x"); }
    options.truncate = true;
    options.preallocate = 3 << 20;
    {
        Database database(options);
        CHECK_FALSE(database.contains(digest("x")));
        CHECK(fs::file_size(options.path) == 3 << 20);
        database.store(digest("x"), "x");
        database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)");
        CHECK(fs::file_size(options.path) == 3 << 20);
    }
    options.truncate = false;
    options.preallocate = 0;
    CHECK(Database(options).load(digest("x")) == "x");
}

TEST_CASE("database: files that are no database are refused in one line", "[content-sqlite]") {
    TemporaryDirectory directory;
    auto options = at(directory.file());
    auto refused = [&](const char* why) {
        auto text = error_of(options);
        CHECK_THAT(text, Catch::StartsWith(options.path) || Catch::StartsWith("cannot open " + options.path));
        CHECK_THAT(text, Catch::Contains(why));
        CHECK(text.find('\n') == text.npos);
    };
    SECTION("garbage") {
        std::ofstream(options.path) << std::string(8192, 'g');
        refused("file is not a database(26)");
    }
    SECTION("a directory") {
        fs::create_directory(options.path);
        refused("cannot open");
    }
    SECTION("cut short") {
        {
            Database database(options);
            for (int i = 0; i < 200; ++i) database.store(digest(std::to_string(i)), std::string(200, 'x'));
        }
        auto size = fs::file_size(options.path);
        for (auto part : {size - 4096, size / 2, std::uintmax_t(4096), std::uintmax_t(1000)}) {
            fs::resize_file(options.path, part);
            refused("malformed(11)");
        }
    }
    SECTION("read-only") {
        if (::geteuid() == 0) return; // who may write anything
        { Database database(options); }
        fs::permissions(options.path, fs::perms::owner_read);
        refused("Permission denied");
    }
}

TEST_CASE("database: opens a database of Flux", "[content-sqlite]") {
    TemporaryDirectory directory;
    auto options = at(directory.file());
    fs::copy_file(FLUX_TEST_VECTORS "/vectors/instance.content.sqlite", options.path);
    fs::permissions(options.path, fs::perms::owner_read | fs::perms::owner_write);
    Database database(options);
    CHECK(database.object_count() == 565);
    CHECK(database.epoch() == 3);
    CHECK(sequences(database) == std::vector<int>{70, 70, 1});
    Hasher hasher(HashKind::sha1);
    int read = 0;
    sqlite::Statement all(database.connection(), "SELECT hash FROM objects");
    while (all.step()) {
        std::string key(all.column_bytes(0));
        auto bytes = database.load(key);
        REQUIRE(bytes);
        auto blobref = hasher(*bytes);
        CHECK(blobref.digest() == key);
        ++read;
    }
    CHECK(read == 565);
    commit(database, {"ours"}, Json::object("checkpoint", checkpoint(71)));
    CHECK(sequences(database) == std::vector<int>{71, 70, 70, 1});
}

TEST_CASE("database: takes over older forms", "[content-sqlite]") {
    TemporaryDirectory directory;
    auto options = at(directory.file());
    {
        sqlite::Connection old(options.path);
        old.execute("CREATE TABLE objects(hash BLOB PRIMARY KEY, size INT, object BLOB);"
                    "CREATE TABLE checkpt(key TEXT, value TEXT);"
                    "INSERT INTO checkpt VALUES ('kvs-primary', '{\"version\":1,\"sequence\":9}')");
    }
    Database database(options);
    CHECK(sequences(database) == std::vector<int>{9});
    database.store(digest("x"), "x");
    CHECK(database.load(digest("x")) == "x");
}

TEST_CASE("database: damaged rows do not get far", "[content-sqlite]") {
    TemporaryDirectory directory;
    Database database(at(directory.file()));
    std::string blob(1000, 'x');
    for (const char* damage : {"size = 4000000000", "size = 2000000000", "size = -7", "size = 1001", "size = 999",
                               "object = x'00'", "object = NULL"}) {
        database.store(digest(blob), blob);
        database.connection().execute((std::string("UPDATE objects SET ") + damage).c_str());
        CHECK_THROWS_AS(database.load(digest(blob)), Error);
        database.connection().execute("DELETE FROM objects");
    }
}

TEST_CASE("collector: sweeps what is not marked", "[content-sqlite]") {
    TemporaryDirectory directory;
    Database database(at(directory.file()));
    Collector collector(database.connection());
    CHECK(collector.high_water() == 0);
    for (int i = 0; i < 10; ++i) database.store(digest(std::to_string(i)), std::to_string(i));
    database.put_checkpoint(checkpoint(1));
    database.store(digest("new"), "new");
    CHECK(collector.high_water() == 11);
    CHECK(collector.candidates(1) == 10);
    auto kept = digest("3"), unknown = digest("unknown");
    CHECK(collector.mark(1, {kept, unknown}) == 1);
    auto swept = collector.sweep(1, 0, 11, 4, 100);
    CHECK(swept.deleted == 4);
    CHECK(swept.cursor == 5);
    swept = collector.sweep(1, swept.cursor, 11, 100, 3);
    CHECK(swept.deleted == 3);
    CHECK(swept.cursor == 8);
    swept = collector.sweep(1, swept.cursor, 11, 100, 100);
    CHECK(swept.deleted == 2);
    CHECK(swept.cursor == 11);
    CHECK(database.object_count() == 2);
    CHECK(database.contains(kept));
    CHECK(database.contains(digest("new")));
}
