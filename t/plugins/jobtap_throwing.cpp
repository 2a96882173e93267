// Throws in its constructor, with a task started already.
#include <flux/jobtap.hpp>

#include <stdexcept>

namespace {

class Custom final : public std::runtime_error {
    using runtime_error::runtime_error;
};

class Bad final : public flux::JobtapPlugin {
public:
    explicit Bad(flux::JobtapHost& host) : JobtapPlugin(host) {
        host.scope().spawn("wait", &Bad::wait);
        host.serve("never", flux::MethodClass::read, flux::role_owner, [](flux::Request) {});
        throw Custom("thrown on purpose");
    }

private:
    static flux::Task<> wait() { co_await flux::sleep_for(std::chrono::hours(1)); }
};

} // namespace

FLUX_JOBTAP_PLUGIN(Bad)
