#include "watch.hpp"

#include <algorithm>

namespace flux::job_info {

Watch::Watch(Context& context, Request request)
    : context_(context), request_(std::move(request)), id_(request_.json().get<JobId>("id")), scope_(context.scope) {
    request_.require_streaming();
}

Task<> Watch::serve(Watch* self) {
    try {
        co_await self->run();
        self->request_.end();
    } catch (const Cancelled&) {
        // Whoever aborted has answered, or goes on with the stream elsewhere.
    } catch (const Error& error) {
        self->request_.fail(error);
    }
    self->scope_.abort(); // what else it had started
}

void Watches::start(std::unique_ptr<Watch> watch) {
    auto& started = *watches_.emplace_back(std::move(watch));
    started.scope_.spawn("watch", &Watch::serve, &started);
    started.scope_.when_empty(
        [this, &started] { std::erase_if(watches_, [&](const auto& one) { return one.get() == &started; }); });
}

void Watches::cancel(const Request& request) {
    auto matchtag = request.json().get<std::uint32_t>("matchtag");
    for (const auto& watch : watches_) {
        if (watch->request_.matchtag() != matchtag || !watch->request_.same_sender(request)) continue;
        watch->request_.end();
        watch->scope_.abort();
    }
}

void Watches::disconnect(const Request& request) {
    for (const auto& watch : watches_) {
        if (!watch->request_.same_sender(request)) continue;
        watch->request_.drop();
        watch->scope_.abort();
    }
}

const Watch* Watches::find(const Request& request) const noexcept {
    for (const auto& watch : watches_)
        if (&watch->request_.message() == &request.message() && !watch->request_.answered()) return watch.get();
    return nullptr;
}

} // namespace flux::job_info
