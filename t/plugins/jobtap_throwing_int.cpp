// Throws what is no exception.
#include <flux/jobtap.hpp>

namespace {

class Bad final : public flux::JobtapPlugin {
public:
    explicit Bad(flux::JobtapHost& host) : JobtapPlugin(host) { throw 42; }
};

} // namespace

FLUX_JOBTAP_PLUGIN(Bad)
