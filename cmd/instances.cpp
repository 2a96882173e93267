#include "cmd/instances.hpp"

#include "cmd/uri/resolve.hpp"

#include <flux/error.hpp>

namespace flux::cmd {

std::unique_ptr<Handle> open_instance(Loop& loop, const joblist::Job& job) {
    auto uri = job.uri();
    if (uri.empty() || !job.running()) return nullptr;
    try {
        return Handle::open(loop, uri::reachable(uri));
    } catch (const Error&) {
        return nullptr;
    }
}

} // namespace flux::cmd
