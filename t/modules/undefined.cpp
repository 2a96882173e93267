// Needs a symbol that nobody has.
#include <flux/module.hpp>

void nobody_defines_this();

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        nobody_defines_this();
        co_return;
    }
};

} // namespace

FLUX_MODULE(Bad, "undefined")
