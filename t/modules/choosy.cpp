// A module that takes no configuration whose `choosy.refuse` is its own name, and tells which `choosy.value` it has.
#include <flux/module.hpp>

namespace {

class Choosy final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        static constexpr flux::Method value{"choosy.value", flux::MethodClass::read};
        topic_ = name() + ".value"; // it is loaded under several names
        serve(flux::Method(topic_, flux::MethodClass::read), &Choosy::tell);
        value_ = config().find("choosy.value").copy();
        co_return;
    }
    // The value is taken before it is looked at, as in a module that is updated half when it refuses.
    void config_changed(flux::JsonView config) override {
        value_ = config.find("choosy.value").copy();
        if (config.find("choosy.refuse").try_as<std::string>() == name()) throw flux::Error(EINVAL, "not with me");
    }

private:
    void tell(flux::Request request) { request.respond(flux::Json::object("value", value_.copy())); }
    std::string topic_;
    flux::Json value_;
};

} // namespace

FLUX_MODULE(Choosy, "choosy")
