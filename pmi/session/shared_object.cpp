#include <flux/error.hpp>

#include <cerrno>
#include <dlfcn.h>
#include <pmi/session/shared_object.hpp>
#include <pmi/wire.hpp>
#include <vector>

namespace flux::pmi {

SharedObject::SharedObject(const std::string& path, const std::string& name, bool foreign_only) {
    std::vector<std::string> files{path};
    if (path.empty()) files = {name, name + ".0"};
    std::string failure;
    for (const auto& file : files) {
        // Plugins that the library loads (those of Slurm do) look for its symbols.
        handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
        file_ = file;
        if (handle_) break;
        if (const char* why = ::dlerror(); why && failure.empty()) failure = why;
    }
    if (!handle_) throw Error(ENOENT, failure);
    if (foreign_only && ::dlsym(handle_, "flux_pmi_library")) {
        ::dlclose(handle_);
        throw Error(EINVAL, file_ + " belongs to Flux and leads to no other launcher");
    }
}

SharedObject::~SharedObject() { ::dlclose(handle_); }

void* SharedObject::address(const char* symbol) const {
    void* found = ::dlsym(handle_, symbol);
    if (!found) throw Error(ENOENT, file_ + " has no " + symbol);
    return found;
}

void check(const std::string& function, int code) {
    if (code != success) throw Error(EIO, function + ": " + code_name(code) + " (" + std::to_string(code) + ")");
}

} // namespace flux::pmi
