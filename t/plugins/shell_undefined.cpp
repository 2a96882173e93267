// Needs a symbol that nobody has.
#include <flux/shell.hpp>

void nobody_defines_this();

namespace {

class Bad final : public flux::shell::Plugin {
public:
    using Plugin::Plugin;
    void exit() override { nobody_defines_this(); }
};

} // namespace

FLUX_SHELL_PLUGIN(Bad, "undefined")
