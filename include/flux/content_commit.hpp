// Payload of `content.commit` and `content-backing.commit`: what becomes durable together.
//
//   count     u32, little-endian
//   per blob  digest (raw, as long as the instance's hash), size (u32, little-endian), bytes
//   tail      JSON object and NUL, every key optional:
//     hash        s   name of the hash of all digests
//     sync        b   end with an fsync, and make `checkpoint` a new one beside the older
//     checkpoint  o   takes the place of the newest checkpoint; absent: it stays
//     namespaces  a   [{namespace, owner, flags, rootref, rootseq}, ...]  to be put, all but primary
//     removed     a   [name, ...]  namespaces to be dropped, with the once rows of each
//     once        a   [{id, seq, namespace, result}, ...]  rows to be put, by id; one that no commit has touched for 30
//                     days may be forgotten
#pragma once

#include <flux/blobref.hpp>
#include <flux/message.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flux {

/// A commit, decoded in place: borrows the bytes that it was made from.
class ContentCommit {
public:
    struct Blob {
        std::string_view digest;
        std::string_view bytes;
    };
    /// \throws Error EPROTO naming what is wrong.
    ContentCommit(std::string_view payload, HashKind hash);

    const std::vector<Blob>& blobs() const noexcept { return blobs_; }
    /// \throws Error EPROTO when it is no JSON object, or names another hash.
    Json tail() const;

private:
    friend class ContentCommitWriter;
    HashKind hash_;
    std::vector<Blob> blobs_;
    std::string_view encoded_; // the blobs and the tail as they came
    std::string_view tail_;
};

class ContentCommitWriter {
public:
    ContentCommitWriter();
    /// \throws Error EFBIG when the blob does not fit a commit.
    void add(std::string_view digest, std::string_view bytes);
    bool empty() const noexcept { return count_ == 0; }
    /// Bytes so far.
    std::size_t size() const noexcept { return data_.size(); }
    /// The commit of what was added and `tail`; nothing is left in the writer.
    Payload finish(JsonView tail);
    /// The same with the blobs and the tail of another commit behind it.
    Payload finish(const ContentCommit& rest);

private:
    Payload take();
    std::uint32_t count_ = 0;
    std::string data_;
};

} // namespace flux
