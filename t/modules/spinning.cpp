// Blocks its thread for ever: in start(), or loaded with `asked` in the stream `spinning.block` after an answer.
#include <flux/module.hpp>

#include <unistd.h>

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        static constexpr flux::Method block{"spinning.block", flux::MethodClass::stream, flux::role_user};
        serve(block, &Bad::block);
        if (!arg("asked")) ::pause(); // nothing of the SDK gets a turn any more
        co_return;
    }

private:
    void block(flux::Request request) {
        request.respond(flux::Json::object("blocks", true));
        ::pause();
    }
};

} // namespace

FLUX_MODULE(Bad, "spinning")
