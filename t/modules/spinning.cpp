// Blocks its thread for ever in start().
#include <flux/module.hpp>

#include <unistd.h>

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        ::pause(); // nothing of the SDK gets a turn any more
        co_return;
    }
};

} // namespace

FLUX_MODULE(Bad, "spinning")
