#include "update_watch.hpp"

#include "documents.hpp"

#include <cerrno>

namespace flux::job_info {

std::string update_key(JsonView payload) {
    auto key = payload.get<std::string>("key");
    if (key != "R" && key != "jobspec") throw Error(EINVAL, "unsupported key '" + key + "'");
    if (payload.get<int>("flags") != 0) throw Error(EPROTO, "unknown flags");
    return key;
}

UpdateWatch::UpdateWatch(Context& context, Request request, JsonView cursor)
    : Watch(context, std::move(request)),
      key_(update_key(this->request().json())),
      sent_(cursor.get_or("version", 0)) {}

Task<> UpdateWatch::run() {
    co_await access().check(request().credentials(), id());
    MainLog log(handle(), id());
    bool first = true; // events that were there before
    bool clean = false;
    // R is there when it is allocated, jobspec from the start.
    const char* creation = key_ == "R" ? "alloc" : "submit";
    while (!clean && !log.ended()) {
        auto event = co_await log.next();
        if (!event) {
            first = false;
        } else if (event->name == creation) {
            co_await load();
        } else if (is_update(key_, *event) && version_ > 0) {
            apply_update(key_, document_, *event);
            ++version_;
        }
        clean = event && event->name == "clean";
        if (!first || clean) send();
    }
}

Task<> UpdateWatch::load() {
    auto options = kvs::LookupOptions().name_space(kvs_protocol::primary_namespace);
    auto value = co_await kvs::lookup(handle(), job_key(id(), key_), options);
    document_ = value.json();
    version_ = 1;
}

void UpdateWatch::send() {
    if (version_ <= sent_) return;
    sent_ = version_;
    request().respond(Json::object(key_, document_.copy()));
}

} // namespace flux::job_info
