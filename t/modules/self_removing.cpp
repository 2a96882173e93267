// Asks for its own removal.
#include <flux/module.hpp>

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        spawn("suicide", &Bad::suicide, this);
        co_return;
    }

private:
    flux::Task<> suicide() {
        co_await flux::sleep_for(std::chrono::milliseconds(1));
        auto payload = flux::Json::object("name", "self_removing");
        co_await call("module.remove", std::move(payload));
    }
};

} // namespace

FLUX_MODULE(Bad, "self_removing")
