// Does not like any configuration.
#include <flux/jobtap.hpp>

#include <cerrno>

namespace {

class Bad final : public flux::JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;
    void conf_update(flux::JsonView) override { throw flux::Error(ENOTSUP, "no configuration will do"); }
};

} // namespace

FLUX_JOBTAP_PLUGIN(Bad)
