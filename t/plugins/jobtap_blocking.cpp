// Its constructor never returns.
#include <flux/jobtap.hpp>

#include <unistd.h>

namespace {

class Bad final : public flux::JobtapPlugin {
public:
    explicit Bad(flux::JobtapHost& host) : JobtapPlugin(host) {
        for (;;) ::pause();
    }
};

} // namespace

FLUX_JOBTAP_PLUGIN(Bad)
