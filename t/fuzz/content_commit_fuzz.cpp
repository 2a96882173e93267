#include "fuzz.hpp"

#include <flux/content_commit.hpp>

using namespace flux;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        ContentCommit commit(fuzz::text(data, size), HashKind::sha1);
        auto tail = commit.tail();
        ContentCommitWriter writer;
        for (const auto& blob : commit.blobs()) writer.add(blob.digest, blob.bytes);
        auto written = writer.finish(tail);
        ContentCommit again(written.bytes(), HashKind::sha1);
        fuzz::require(again.blobs().size() == commit.blobs().size() && again.tail().equals(tail));
        auto joined = writer.finish(commit); // nothing before it: the same bytes
        fuzz::require(joined.bytes() == fuzz::text(data, size));
    } catch (const Error&) {}
    return 0;
}
