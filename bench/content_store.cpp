// Commits of the backing store against SQLite's own insert rate: the same rows in the same kind of transaction, without
// compression, checkpoint, namespaces and decoding. Usage: bench_content_store [COMMITS [BLOBS [BYTES]]]
#include "database.hpp"

#include <flux/hash.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

using namespace flux;
namespace fs = std::filesystem;

namespace {

struct Shape {
    int commits;
    int blobs;
    std::size_t bytes;
};

struct Cost {
    double wall; // microseconds a commit
    double cpu;
};

double cpu_seconds() {
    timespec now;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Fresh {
public:
    Fresh() {
        std::string name = fs::temp_directory_path() / "bench-content-XXXXXX";
        if (!::mkdtemp(name.data())) throw Error(errno);
        path_ = name;
    }
    ~Fresh() { fs::remove_all(path_); }
    std::string file() const { return path_ / "content.sqlite"; }

private:
    fs::path path_;
};

// Text that compresses like a directory of the KVS.
std::string make_blob(int seed, std::size_t bytes) {
    std::string blob;
    for (int i = 0; blob.size() < bytes; ++i) blob += fmt::format("{{\"key{}\":\"{}\"}}", i, (seed + i) * 7919LL);
    blob.resize(bytes);
    return blob;
}

template <class F> Cost measure(int commits, F&& commit) {
    auto cpu = cpu_seconds();
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < commits; ++i) commit(i);
    std::chrono::duration<double, std::micro> wall = std::chrono::steady_clock::now() - begin;
    return {wall.count() / commits, (cpu_seconds() - cpu) * 1e6 / commits};
}

Cost ours(const Shape& shape, const std::vector<std::string>& blobs, const std::vector<Blobref>& names) {
    Fresh fresh;
    DatabaseOptions options;
    options.path = fresh.file();
    Database database(options);
    std::size_t next = 0;
    return measure(shape.commits, [&](int sequence) {
        ContentCommitWriter writer;
        for (int i = 0; i < shape.blobs; ++i, ++next) writer.add(names[next].digest(), blobs[next]);
        auto checkpoint = Json::object("version", 1, "rootref", names[next - 1].to_string(), "sequence", sequence,
                                       "timestamp", 1795968093.1365752);
        auto payload = writer.finish(Json::object("hash", "sha1", "checkpoint", std::move(checkpoint)));
        database.commit(ContentCommit(payload.bytes(), HashKind::sha1));
    });
}

Cost plain(const Shape& shape, const std::vector<std::string>& blobs, const std::vector<Blobref>& names) {
    Fresh fresh;
    sqlite::Connection connection(fresh.file());
    connection.execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                       "CREATE TABLE objects(hash BLOB PRIMARY KEY, size INT, object BLOB, epoch INT DEFAULT 0)");
    sqlite::Statement insert(connection, "INSERT INTO objects VALUES (?1, -1, ?2, 0)");
    std::size_t next = 0;
    return measure(shape.commits, [&](int) {
        sqlite::Transaction transaction(connection);
        for (int i = 0; i < shape.blobs; ++i, ++next)
            insert.bind_text(1, names[next].digest()).bind_blob(2, blobs[next]).run();
        transaction.commit();
    });
}

Cost median(std::vector<Cost> costs) {
    std::sort(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) { return a.cpu < b.cpu; });
    return costs[costs.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    Shape shape{20000, 3, 300};
    if (argc > 1) shape.commits = std::atoi(argv[1]);
    if (argc > 2) shape.blobs = std::atoi(argv[2]);
    if (argc > 3) shape.bytes = static_cast<std::size_t>(std::atoi(argv[3]));
    Hasher hasher(HashKind::sha1);
    std::vector<std::string> blobs;
    std::vector<Blobref> names;
    for (int i = 0; i < shape.commits * shape.blobs; ++i) {
        blobs.push_back(make_blob(i, shape.bytes));
        names.push_back(hasher(blobs.back()));
    }
    std::vector<Cost> our_costs, plain_costs;
    for (int run = 0; run < 3; ++run) {
        our_costs.push_back(ours(shape, blobs, names));
        plain_costs.push_back(plain(shape, blobs, names));
    }
    auto us = median(our_costs), them = median(plain_costs);
    fmt::print("{} commits of {} blobs of {} bytes\n", shape.commits, shape.blobs, shape.bytes);
    fmt::print("content-sqlite {:8.1f} us CPU {:8.1f} us wall a commit {:10.0f} blobs/s\n", us.cpu, us.wall,
               shape.blobs * 1e6 / us.wall);
    fmt::print("plain SQLite   {:8.1f} us CPU {:8.1f} us wall a commit {:10.0f} blobs/s\n", them.cpu, them.wall,
               shape.blobs * 1e6 / them.wall);
    fmt::print("ratio          {:8.2f}        {:8.2f}\n", us.cpu / them.cpu, us.wall / them.wall);
}
