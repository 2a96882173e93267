#include <flux/service_watch.hpp>

namespace flux {

ServiceWatch::ServiceWatch(Handle& handle, Scope& scope, std::string service, std::function<void()> on_change)
    : on_change_(std::move(on_change)) {
    scope.spawn("service watch", &ServiceWatch::follow, this, &handle, std::move(service));
}

Task<> ServiceWatch::follow(ServiceWatch* self, Handle* handle, std::string service) {
    auto stream = handle->stream("service.watch", Json::object("service", service));
    while (auto response = co_await stream.next()) {
        self->up_ = response->json().get<bool>("up");
        ++self->changes_;
        if (self->on_change_) self->on_change_();
        self->changed_.notify_all();
    }
}

Task<> ServiceWatch::up_since(std::uint64_t seen) {
    while (!up_ || changes_ == seen) co_await changed_.wait();
}

} // namespace flux
