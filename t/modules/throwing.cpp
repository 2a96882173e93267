// Throws in start().
#include <flux/module.hpp>

#include <cerrno>

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        throw flux::Error(EXDEV, "thrown on purpose");
        co_return;
    }
};

} // namespace

FLUX_MODULE(Bad, "throwing")
