// Blobs that are parts of files, on rank 0 (kvs-content.md 1.10). Only where each part lies is kept: a load reads the
// file again and checks the hash, so that a file that has changed, shrunk or gone is an error and nothing worse.
#pragma once

#include <flux/hash.hpp>

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace flux {

class FileBlobs {
public:
    /// \param record  path of the record; empty: none
    FileBlobs(Hasher& hasher, std::string record) : hasher_(hasher), record_(std::move(record)) {}

    /// Offer the files of the record again. \param on_error  told why one cannot be
    void restore(const std::function<void(const Error&)>& on_error);

    /// Offer the parts of a file, `chunk_size` bytes each (0: as long as its data reaches), holes left out.
    /// \throws Error EINVAL when it is no non-empty regular file or the path is not absolute; else why it cannot be
    /// read.
    void add(const std::string& path, std::size_t chunk_size, const std::string& tag);
    /// Forget the files of a tag.
    void remove(const std::string& tag);

    /// The blob, if it is part of a file. \throws Error EINVAL `mapped file content has changed`
    std::optional<std::string> load(const Blobref& ref);

    /// `{tags:{tag:[path, ...], ...}, blobs}`
    Json stats() const;

private:
    struct File {
        File(std::string path, std::size_t chunk_size, std::string tag)
            : path(std::move(path)), chunk_size(chunk_size), tag(std::move(tag)) {}
        std::string path;
        std::size_t chunk_size;
        std::string tag;
    };
    struct Part {
        const File* file;
        std::size_t offset;
        std::size_t size;
    };

    void scan(const std::string& path, std::size_t chunk_size, const std::string& tag);
    void write_record() const;

    Hasher& hasher_;
    std::string record_;
    std::list<File> files_;
    std::unordered_map<Blobref, std::vector<Part>> parts_; // one blob may lie in several files
};

} // namespace flux
