#include <flux/jobtap.hpp>

namespace flux {

JobtapPlugin::~JobtapPlugin() = default;

} // namespace flux
