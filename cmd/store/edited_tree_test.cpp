#include "cmd/store/edited_tree.hpp"

#include <flux/hash.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <map>

using namespace flux;
using namespace flux::store;

namespace {

class Memory final : public Storage {
public:
    Task<Blobref> store(std::string bytes) override {
        auto blob = hasher(bytes);
        blobs[blob] = std::move(bytes);
        co_return blob;
    }
    Task<std::string> load(Blobref blob) override {
        ++loads;
        co_return blobs.at(blob);
    }
    Hasher hasher{HashKind::sha1};
    std::map<Blobref, std::string> blobs;
    int loads = 0;
};

Task<Blobref> build(std::vector<std::string> paths, Memory* memory, std::size_t limit) {
    EditedTree tree(*memory, limit);
    for (const auto& text : paths) {
        auto path = path_of_key(text);
        auto object = treeobj::make_val(text);
        co_await tree.put(&path, std::move(object));
    }
    auto root = co_await tree.finish();
    co_return root;
}

Blobref root_of(std::vector<std::string> paths, Memory& memory, std::size_t limit = 1000) {
    Loop loop;
    Scope scope(loop);
    return run_task<Blobref>(scope, &build, std::move(paths), &memory, limit);
}

} // namespace

TEST_CASE("a tree is the same whatever the order and the memory") {
    std::vector<std::string> paths{"a.b.c", "d", "a.b.e", "f.g", "a.h", "f.i.j.k", "a.b.l"};
    Memory plenty, little;
    auto root = root_of(paths, plenty);
    CHECK(plenty.loads == 0);
    CHECK(root_of({paths.rbegin(), paths.rend()}, little, 1) == root);
    CHECK(little.loads > 0);
    Memory none;
    CHECK(root_of({}, none).to_string() == "sha1-c0a9faf907dda6216fd73bf81d0b3b21a1a8cb91");
}

TEST_CASE("one name is not a directory and something else") {
    for (std::size_t limit : {0, 1000}) {
        Memory memory;
        CHECK_THROWS_AS(root_of({"a.b", "c", "a"}, memory, limit), Error);
        CHECK_THROWS_AS(root_of({"a", "c", "a.b"}, memory, limit), Error);
    }
}

namespace {

Task<Blobref> move(Blobref root, std::string from, std::string to, Memory* memory) {
    EditedTree tree(*memory);
    co_await tree.begin(root);
    auto source = path_of_key(from), target = path_of_key(to);
    auto object = co_await tree.take(&source);
    co_await tree.put(&target, std::move(object));
    auto moved = co_await tree.finish();
    co_return moved;
}

} // namespace

TEST_CASE("parts of a tree that is there are moved") {
    Memory memory;
    auto root = root_of({"a.b.c", "a.d", "e"}, memory);
    Loop loop;
    Scope scope(loop);
    auto there = run_task<Blobref>(scope, &move, root, std::string("a.b"), std::string("f.g"), &memory);
    CHECK(there != root);
    CHECK_THROWS_AS(run_task<Blobref>(scope, &move, there, std::string("a.b"), std::string("x"), &memory), Error);
    CHECK_THROWS_AS(run_task<Blobref>(scope, &move, there, std::string("e.b"), std::string("x"), &memory), Error);
    auto empty = run_task<Blobref>(scope, &move, there, std::string("f.g"), std::string("a.b"), &memory);
    CHECK(memory.blobs.at(empty).find("\"f\"") != std::string::npos); // a directory stays when it is empty
}
