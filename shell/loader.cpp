#include "loader.hpp"

#include <flux/file_descriptor.hpp>

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace flux::shell {
namespace {

// Far more than any plugin has.
constexpr std::size_t max_sections = 4096;
constexpr std::size_t max_names = std::size_t{1} << 20;

class ElfFile {
public:
    explicit ElfFile(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (!fd_) throw Error(errno).while_doing(path);
    }
    void read(void* into, std::size_t size, std::uint64_t offset) const {
        auto count = ::pread(fd_.get(), into, size, static_cast<off_t>(offset));
        if (count != static_cast<ssize_t>(size)) refuse();
    }
    [[noreturn]] void refuse() const { throw Error(EINVAL, path_ + ": not a plugin"); }

private:
    const std::string& path_;
    FileDescriptor fd_;
};

} // namespace

bool has_section(const std::string& path, std::string_view name) {
    ElfFile file(path);
    Elf64_Ehdr header;
    file.read(&header, sizeof header, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > max_sections ||
        header.e_shstrndx >= header.e_shnum)
        file.refuse();
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    file.read(sections.data(), sections.size() * sizeof(Elf64_Shdr), header.e_shoff);
    const auto& strings = sections[header.e_shstrndx];
    if (strings.sh_size > max_names) file.refuse();
    std::string names(strings.sh_size, '\0');
    file.read(names.data(), names.size(), strings.sh_offset);
    for (const auto& section : sections) {
        if (section.sh_name >= names.size()) file.refuse();
        if (std::string_view(names.c_str() + section.sh_name) == name) return true;
    }
    return false;
}

const PluginTable& load_plugin(const std::string& path) {
    auto refuse = [&] { throw Error(EINVAL, path + ": built for another flux, rebuild it"); };
    if (!has_section(path, abi_section)) refuse();
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) throw Error(ELIBBAD, ::dlerror());
    auto* table = static_cast<const PluginTable*>(::dlsym(library, plugin_table_symbol));
    if (!table) throw Error(EINVAL, path + ": not a shell plugin");
    if (table->size < sizeof(PluginTable) || table->minor > plugin_abi_minor ||
        std::strcmp(table->abi_tag, FLUX_ABI_TAG) != 0)
        refuse();
    return *table;
}

std::optional<std::string> find_plugin(std::string_view path_list, std::string_view name) {
    if (name.empty() || name.find('/') != name.npos) return std::nullopt;
    while (!path_list.empty()) {
        auto directory = path_list.substr(0, path_list.find(':'));
        path_list.remove_prefix(std::min(path_list.size(), directory.size() + 1));
        if (directory.empty()) continue;
        auto path = std::string(directory) + '/' + std::string(name) + ".so";
        if (::access(path.c_str(), R_OK) == 0) return path;
    }
    return std::nullopt;
}

} // namespace flux::shell
