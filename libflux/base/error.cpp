#include <flux/error.hpp>

#include <cerrno>
#include <cstring>

namespace flux {

std::string errno_text(int errnum) {
    const char* name = ::strerrordesc_np(errnum);
    if (name) return name;
    return "Unknown error " + std::to_string(errnum);
}

Error::Error(int errnum, const std::string& text)
    : std::runtime_error(text.empty() ? errno_text(errnum) : text), errnum_(errnum ? errnum : EINVAL), text_(text) {}
Error::~Error() = default;

Error Error::while_doing(const std::string& what) const { return Error(errnum_, what + ": " + this->what()); }

Cancelled::Cancelled() : Error(ECANCELED) {}
Cancelled::~Cancelled() = default;

} // namespace flux
