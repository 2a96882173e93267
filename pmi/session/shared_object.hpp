// A PMI library of the launcher, opened at run time.
#pragma once

#include <string>

namespace flux::pmi {

class SharedObject {
public:
    /// \param path  empty: the file that the dynamic linker finds as `name` or, without the files for developers,
    ///              as `name.0`.
    /// \param foreign_only  refuse our own libraries.
    /// \throws Error ENOENT, EINVAL
    SharedObject(const std::string& path, const std::string& name, bool foreign_only);
    ~SharedObject();
    SharedObject(const SharedObject&) = delete;
    SharedObject& operator=(const SharedObject&) = delete;

    /// \throws Error ENOENT when the library has no such function.
    template <class Function> void find(const char* symbol, Function*& function) const {
        function = reinterpret_cast<Function*>(address(symbol));
    }
    const std::string& file() const noexcept { return file_; }

private:
    void* address(const char* symbol) const;
    void* handle_ = nullptr;
    std::string file_;
};

/// \throws Error EIO naming function and code, unless the code of a PMI function says success.
void check(const std::string& function, int code);

} // namespace flux::pmi
