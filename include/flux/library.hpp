// One loaded file of a module or plugin, for hosts of these: checked before loading, loaded from a private copy, really
// unloaded. Links with target flux_library.
#pragma once

#include <flux/module.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace flux {

/// What a kind of loadable file exports: a table whose first members are `size`, `minor` and `abi_tag`.
struct LibraryKind {
    const char* what; ///< for messages
    const char* table_symbol;
    std::size_t table_size;
    std::uint16_t minor; ///< the newest that the host knows
};
inline constexpr LibraryKind module_library{"module", module_table_symbol, sizeof(ModuleTable), module_abi_minor};

class Library {
public:
    /// Check and load `path`, from a copy in `copies` (a directory, made when absent). Blocking; any thread.
    /// \throws Error ENOENT, EINVAL naming the file and what is wrong with it.
    static std::unique_ptr<Library> open(const std::string& path, const std::string& copies, const LibraryKind& kind);
    /// The same without a copy, for a process that ends with its module.
    static std::unique_ptr<Library> open_in_place(const std::string& path, const LibraryKind& kind);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    /// The table, of the type that belongs to the kind.
    template <class Table> const Table& table() const noexcept { return *static_cast<const Table*>(table_); }
    const std::string& path() const noexcept { return path_; }
    /// Unload. False when the code is still mapped: something pins it.
    bool unload() noexcept;

private:
    Library();
    static std::unique_ptr<Library> load(const std::string& path, const std::string& file, const LibraryKind& kind,
                                         bool copied);
    struct Handle;
    std::unique_ptr<Handle> handle_;
    std::string path_;
    const void* table_ = nullptr;
};

} // namespace flux
