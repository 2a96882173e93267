// Kills its process when asked; for modules that run in one of their own.
#include <flux/module.hpp>

#include <csignal>
#include <unistd.h>

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        static constexpr flux::Method die{"dying.die", flux::MethodClass::once};
        serve(die, &Bad::die);
        co_return;
    }

private:
    void die(flux::Request) { ::kill(::getpid(), SIGKILL); }
};

} // namespace

FLUX_MODULE(Bad, "dying")
