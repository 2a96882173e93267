// A broker module out of the tree: answers `greeter.hello {name}`, and publishes an event for each greeting.
//   cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build
//   flux module load ./build/greeter.so greeting=Hello
#include <flux/module.hpp>

using namespace flux;

class Greeter final : public Module {
public:
    using Module::Module;

    Task<> start() override {
        greeting_ = arg("greeting").value_or("Hello");
        static constexpr Method hello{"greeter.hello", MethodClass::read, role_user};
        serve(hello, &Greeter::hello);
        co_return;
    }

    Json stats() override { return Json::object("greetings", count_); }

private:
    void hello(Request request) {
        auto text = greeting_ + ", " + request.json().get<std::string>("name");
        handle().publish("greeter.greeted", Json::object("text", text));
        request.respond(Json::object("text", text));
        ++count_;
    }

    std::string greeting_;
    unsigned count_ = 0; // volatile: starts again after a reload
};

FLUX_MODULE(Greeter, "greeter")
