// Never gets through start(), but waits in a way that can be aborted.
#include <flux/module.hpp>

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override { co_await flux::sleep_for(std::chrono::hours(24)); }
};

} // namespace

FLUX_MODULE(Bad, "hanging")
