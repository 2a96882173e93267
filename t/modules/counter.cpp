// Built in versions 1, 2 and 3 (COUNTER_VERSION), of which 3 fails to start. Streams a counter: a client that was
// connected before a reload must see neither gap nor duplicate after it.
//   counter.watch   stream of {n}, one every few ms; cursor: the next n
//   counter.slow    read; answered after {ms}
//   counter.once    once; answered after {ms}
//   counter.version read; which code this is
#include <flux/module.hpp>

#include <cerrno>

namespace {

using flux::Json;
using flux::Method;
using flux::MethodClass;
using flux::Request;

class Counter final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        static constexpr Method watch{"counter.watch", MethodClass::stream, flux::role_user};
        static constexpr Method slow{"counter.slow", MethodClass::read, flux::role_user};
        static constexpr Method once{"counter.once", MethodClass::once, flux::role_user};
        static constexpr Method which{"counter.version", MethodClass::read, flux::role_user};
        static constexpr Method cancel{"counter.cancel", MethodClass::once, flux::role_user};
        static constexpr Method disconnect{"counter.disconnect", MethodClass::once, flux::role_user};
        if (COUNTER_VERSION == 3) throw flux::Error(EXDEV, "this version is broken");
        serve(watch, &Counter::watch);
        serve(slow, &Counter::slow);
        serve(once, &Counter::slow);
        serve(which, &Counter::which);
        serve(cancel, &Counter::cancel);
        serve(disconnect, &Counter::disconnect);
        spawn("tick", &Counter::tick, this);
        co_await add_service("counter-alias");
    }
    std::optional<Json> park(const Request& request) override {
        std::optional<Json> cursor;
        watchers_.for_each([&](auto& entry) {
            if (entry.request.matchtag() == request.matchtag() && entry.request.same_sender(request))
                cursor = Json::object("next", entry.data);
        });
        return cursor;
    }
    void resume(Request request, flux::JsonView cursor) override { watchers_.add(request, cursor.get<int>("next")); }

private:
    flux::Task<> tick() {
        for (;;) {
            co_await flux::sleep_for(std::chrono::milliseconds(2));
            watchers_.for_each([](auto& entry) { entry.request.respond(Json::object("n", entry.data++)); });
        }
    }
    void watch(Request request) {
        request.require_streaming();
        watchers_.add(request, 0);
    }
    flux::Task<> slow(Request request) {
        co_await flux::sleep_for(std::chrono::milliseconds(request.json().get<int>("ms")));
        request.respond(Json::object("version", COUNTER_VERSION));
    }
    void which(Request request) { request.respond(Json::object("version", COUNTER_VERSION)); }
    void cancel(Request request) { watchers_.cancel(request); }
    void disconnect(Request request) { watchers_.disconnect(request); }
    flux::RequestList<int> watchers_;
};

} // namespace

FLUX_MODULE(Counter, "counter")
