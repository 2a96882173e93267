#include "parent.hpp"

#include <cerrno>

namespace flux::resource {

Parent::Parent(Loop& loop, const std::string& uri, JobId job) : handle_(Handle::open(loop, uri)), job_(job) {}

Task<ResourceSet> Parent::resources(bool watch) {
    std::optional<Error> failure;
    if (watch) {
        auto payload = Json::object("id", job_, "key", "R", "flags", 0);
        auto options = CallOptions().cancel_topic("job-info.update-watch-cancel");
        updates_ = handle_->stream("job-info.update-watch", std::move(payload), std::move(options));
        try {
            if (auto response = co_await updates_->next()) co_return ResourceSet::decode(response->json()["R"]);
            failure.emplace(ENODATA, "the parent has no R");
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure.emplace(error.errnum(), error.text());
        }
        updates_.reset();
        if (failure->errnum() != ENOSYS) throw Error(*failure);
    }
    auto payload = Json::object("id", job_, "keys", Json::array_of("R"), "flags", 0);
    auto response = co_await handle_->call("job-info.lookup", std::move(payload));
    co_return ResourceSet::parse(response.json().get<std::string_view>("R"));
}

Task<> Parent::follow(std::function<void(double expiration)> on_change) {
    if (!updates_) co_return;
    while (auto response = co_await updates_->next())
        on_change(response->json()["R"]["execution"].get_or("expiration", 0.0));
}

} // namespace flux::resource
