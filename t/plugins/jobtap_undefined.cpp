// Needs a symbol that nobody has.
#include <flux/jobtap.hpp>

void nobody_defines_this();

namespace {

class Bad final : public flux::JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;
    void job_new(const flux::JobtapJob&) override { nobody_defines_this(); }
};

} // namespace

FLUX_JOBTAP_PLUGIN(Bad)
