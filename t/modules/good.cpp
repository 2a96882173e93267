// A module that uses what tends to pin code: a thread_local with a destructor, std::regex, make_shared, many
// coroutines.
#include <flux/module.hpp>

#include <memory>
#include <regex>

namespace {

struct Local {
    ~Local() { text.clear(); }
    std::string text = "thread local with a destructor, longer than the small string";
};
thread_local Local local;

class Good final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        shared_ = std::make_shared<std::string>(local.text);
        std::regex pattern("thread.*");
        if (!std::regex_match(*shared_, pattern)) throw flux::Error(EINVAL, "regex");
        for (int i = 0; i < 20; ++i) spawn("sleeper", &Good::sleeper, this);
        static constexpr flux::Method hello{"good.hello", flux::MethodClass::read, flux::role_user};
        serve(hello, &Good::hello);
        co_return;
    }

private:
    flux::Task<> sleeper() { co_await flux::sleep_for(std::chrono::hours(1)); }
    void hello(flux::Request request) { request.respond(flux::Json::object("text", *shared_)); }
    std::shared_ptr<std::string> shared_;
};

} // namespace

FLUX_MODULE(Good, "good")
