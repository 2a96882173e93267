// One broker per database: a lock file beside it that says who holds it.
#pragma once

#include <string>

namespace flux {

class StoreLock {
public:
    /// Lock `path` (created when missing) until destruction or death. \throws Error EBUSY naming host, pid and since
    /// when it is held; `what` names what it protects.
    StoreLock(const std::string& path, const std::string& what);
    ~StoreLock();
    StoreLock(const StoreLock&) = delete;
    StoreLock& operator=(const StoreLock&) = delete;

private:
    int fd_;
};

} // namespace flux
