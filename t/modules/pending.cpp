// Leaves a timer open: its code must not be unloaded.
#include <flux/module.hpp>

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        auto* timer = new flux::Timer(loop(), [] {}); // never closed
        timer->start(std::chrono::hours(1));
        co_return;
    }
};

} // namespace

FLUX_MODULE(Bad, "pending")
