#include <flux/library.hpp>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/library_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <fmt/core.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace flux {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool unload_code = false; // leak reports need the code to name places
#else
constexpr bool unload_code = true;
#endif

// Copies that are loaded now, or pinned by something: a second load of the same content needs a path of its own. Those
// of other hosts in this process, and of a host that was reloaded meanwhile, are found by what is mapped.
std::mutex in_use_mutex;
std::set<std::string> in_use;

// How the table of every kind begins.
struct TableHead {
    std::uint32_t size;
    std::uint16_t minor;
    const char* abi_tag;
};

bool is_mapped(const std::string& file) noexcept {
    void* mapped = ::dlopen(file.c_str(), RTLD_NOLOAD | RTLD_NOW);
    if (mapped) ::dlclose(mapped);
    return mapped;
}

// Look at the file without running any of its code: the ABI section's name is the tag.
void check_abi(const std::string& path, const LibraryKind& kind) {
    if (::access(path.c_str(), R_OK) < 0) throw Error(errno, fmt::format("{}: {}", path, errno_text(errno)));
    std::vector<std::string> sections;
    try {
        sections = boost::dll::library_info(path, true).sections();
    } catch (const std::exception&) {
        throw Error(EINVAL, fmt::format("{}: not a loadable object file", path));
    }
    std::string found;
    for (const auto& section : sections) {
        if (section == abi_section) return;
        if (section.starts_with(".flux.abi.")) found = section.substr(std::strlen(".flux.abi."));
    }
    if (found.empty()) throw Error(EINVAL, fmt::format("{}: not a flux {}", path, kind.what));
    throw Error(EINVAL,
                fmt::format("{}: built for another flux (ABI {}, this is {}): rebuild it", path, found, FLUX_ABI_TAG));
}

// What tells two contents apart: the build id when the linker made one, else size and time.
std::string content_id(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    Elf64_Ehdr header{};
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    for (int i = 0; file && i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        file.seekg(static_cast<std::streamoff>(header.e_phoff + static_cast<Elf64_Off>(i) * header.e_phentsize));
        file.read(reinterpret_cast<char*>(&segment), sizeof segment);
        if (segment.p_type != PT_NOTE || segment.p_filesz > 4096) continue;
        std::string notes(segment.p_filesz, '\0');
        file.seekg(static_cast<std::streamoff>(segment.p_offset));
        file.read(notes.data(), static_cast<std::streamsize>(notes.size()));
        std::size_t at = 0;
        while (file && at + sizeof(Elf64_Nhdr) <= notes.size()) {
            Elf64_Nhdr note;
            std::memcpy(&note, notes.data() + at, sizeof note);
            auto name = at + sizeof note;
            auto desc = name + ((note.n_namesz + 3u) & ~3u);
            if (desc + note.n_descsz > notes.size()) break;
            if (note.n_type == NT_GNU_BUILD_ID && notes.compare(name, 4, std::string("GNU\0", 4)) == 0) {
                std::string id;
                for (std::size_t k = 0; k < note.n_descsz; ++k)
                    id += fmt::format("{:02x}", static_cast<unsigned char>(notes[desc + k]));
                return id;
            }
            at = desc + ((note.n_descsz + 3u) & ~3u);
        }
    }
    struct stat info {};
    ::stat(path.c_str(), &info);
    return fmt::format("{:x}-{:x}", info.st_size, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec);
}

// Brokers that share a run directory share the copies: whoever is first makes it, by rename.
std::string make_copy(const std::string& path, const std::string& copies) {
    static std::atomic<unsigned> serial{0};
    fs::create_directories(copies);
    auto base = fmt::format("{}/{}-{}", copies, fs::path(path).stem().string(), content_id(path));
    std::string copy = base + ".so";
    std::lock_guard lock(in_use_mutex);
    for (unsigned n = 1; in_use.contains(copy) || is_mapped(copy); ++n)
        copy = fmt::format("{}-{}-{}.so", base, ::getpid(), n);
    if (!fs::exists(copy)) {
        auto fresh = fmt::format("{}.{}.{}", copy, ::getpid(), ++serial);
        std::error_code failure;
        fs::copy_file(path, fresh, failure);
        if (failure)
            throw Error(failure.value(), fmt::format("{}: cannot copy to {}: {}", path, fresh, failure.message()));
        fs::rename(fresh, copy);
    }
    in_use.insert(copy);
    return copy;
}

void release_copy(const std::string& copy) {
    std::lock_guard lock(in_use_mutex);
    in_use.erase(copy);
}

} // namespace

struct Library::Handle {
    boost::dll::shared_library library;
    std::string file;
    bool copied = false;
};

Library::Library() = default;
Library::~Library() { unload(); }

std::unique_ptr<Library> Library::open(const std::string& path, const std::string& copies, const LibraryKind& kind) {
    check_abi(path, kind);
    return load(path, make_copy(path, copies), kind, true);
}

std::unique_ptr<Library> Library::open_in_place(const std::string& path, const LibraryKind& kind) {
    check_abi(path, kind);
    return load(path, path, kind, false);
}

std::unique_ptr<Library> Library::load(const std::string& path, const std::string& file, const LibraryKind& kind,
                                       bool copied) {
    std::unique_ptr<Library> result(new Library);
    result->path_ = path;
    result->handle_ = std::make_unique<Handle>();
    auto& handle = *result->handle_;
    handle.file = file;
    handle.copied = copied;
    std::error_code failure;
    handle.library.load(file, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, failure);
    if (failure) {
        const char* why = ::dlerror();
        std::string text = why ? why : "cannot be loaded";
        if (text.starts_with(file + ": ")) text.erase(0, file.size() + 2);
        result->unload();
        throw Error(EINVAL, fmt::format("{}: {}", path, text));
    }
    if (!handle.library.has(kind.table_symbol)) {
        result->unload();
        throw Error(EINVAL, fmt::format("{}: {} does not define {}", path, kind.what, kind.table_symbol));
    }
    const auto& table = handle.library.get<const TableHead>(kind.table_symbol);
    if (table.size < kind.table_size || table.minor > kind.minor || std::strcmp(table.abi_tag, FLUX_ABI_TAG) != 0) {
        result->unload();
        throw Error(EINVAL, fmt::format("{}: built for another flux: rebuild it", path));
    }
    result->table_ = &table;
    return result;
}

bool Library::unload() noexcept {
    table_ = nullptr;
    if (!handle_) return true;
    auto handle = std::move(handle_);
    if (!unload_code) {
        static auto& kept = *new std::vector<boost::dll::shared_library>;
        std::lock_guard lock(in_use_mutex);
        kept.push_back(std::move(handle->library));
        return true;
    }
    handle->library.unload();
    // A copy that stays mapped stays in use: the next load of this content gets a path of its own.
    if (is_mapped(handle->file)) return false;
    if (handle->copied) release_copy(handle->file);
    return true;
}

} // namespace flux
