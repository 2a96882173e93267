// One loaded module file: checked before loading, loaded from a private copy, really unloaded (STYLE, CODEBOOK 5).
#pragma once

#include <flux/module.hpp>

#include <memory>
#include <string>

namespace flux::broker {

class Library {
public:
    /// Check and load `path`, from a copy in `copies` (a directory, made when absent). Blocking; any thread.
    /// \throws Error ENOENT, EINVAL naming the file and what is wrong with it.
    static std::unique_ptr<Library> open(const std::string& path, const std::string& copies);
    /// The same without a copy, for a process that ends with its module.
    static std::unique_ptr<Library> open_in_place(const std::string& path);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    const ModuleTable& table() const noexcept { return *table_; }
    const std::string& path() const noexcept { return path_; }
    /// Unload. False when the code is still mapped: something pins it.
    bool unload() noexcept;

private:
    Library();
    static std::unique_ptr<Library> load(const std::string& path, const std::string& file, bool copied);
    struct Handle;
    std::unique_ptr<Handle> handle_;
    std::string path_;
    const ModuleTable* table_ = nullptr;
};

} // namespace flux::broker
