#include "broker/trace/tracer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fnmatch.h>

namespace flux::broker {
namespace {

constexpr std::string_view module_topic = "module.trace", overlay_topic = "overlay.trace";

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

Json record_of(const Message& message, const char* prefix, bool full) {
    auto record = Json::object("timestamp", now(), "prefix", prefix, "type", static_cast<int>(message.type), "topic",
                               message.topic, "payload_size", message.payload.bytes().size(), "payload", nullptr);
    const bool response = message.type == MessageType::response;
    record.set("errnum", response ? message.errnum() : 0);
    record.set("errstr", response && message.errnum() ? message.error_text() : std::string());
    if (!full || message.payload.bytes().empty()) return record;
    try {
        if (auto payload = message.payload.json()) record.set("payload", payload.copy());
    } catch (const Error&) {
        // Bytes that are no JSON are told by their number only.
    }
    return record;
}

} // namespace

Tracer::Filter::Filter(JsonView payload)
    : types(payload.get<int>("typemask")),
      glob(payload.get<std::string>("topic_glob")),
      full(payload.get_or("full", false)) {}

bool Tracer::Filter::matches(const Message& message) const {
    return (types & static_cast<int>(message.type)) && ::fnmatch(glob.c_str(), message.topic.c_str(), 0) == 0;
}

Tracer::Tracer(Handle& handle, Router& router, Names names) : router_(router), names_(std::move(names)) {
    handle.serve(Method(module_topic, MethodClass::stream), [this](Request request) {
        Filter filter(request.json());
        filter.modules = request.json().get<std::vector<std::string>>("names");
        watch(module_watchers_, std::move(request), std::move(filter));
    });
    handle.serve(Method(overlay_topic, MethodClass::stream), [this](Request request) {
        Filter filter(request.json());
        if (auto peer = request.json().get<std::int64_t>("nodeid"); peer >= 0)
            filter.peer = static_cast<std::uint32_t>(peer);
        watch(overlay_watchers_, std::move(request), std::move(filter));
    });
    handle.serve(Method("module.disconnect", MethodClass::once, role_user), [this](Request request) {
        module_watchers_.disconnect(request);
        update_router();
    });
}

void Tracer::disconnect(const Request& request) {
    overlay_watchers_.disconnect(request);
    update_router();
}

Tracer::~Tracer() { router_.on_pass = nullptr; }

void Tracer::watch(RequestList<Filter>& watchers, Request request, Filter filter) {
    request.require_streaming();
    watchers.add(std::move(request), std::move(filter));
    update_router();
}

void Tracer::update_router() {
    if (module_watchers_.empty() && overlay_watchers_.empty())
        router_.on_pass = nullptr;
    else
        router_.on_pass = [this](const Message& message, const Endpoint& endpoint, Router::Way way) {
            on_pass(message, endpoint, way);
        };
}

// `rx` and `tx` of a module are what it receives and sends, those of a peer what the broker does.
void Tracer::on_pass(const Message& message, const Endpoint& endpoint, Router::Way way) {
    // Nobody traces the traces.
    if (message.topic == module_topic || message.topic == overlay_topic) return;
    if (auto peer = names_.peer(endpoint)) {
        overlay_watchers_.for_each([&](auto& entry) {
            const auto& filter = entry.data;
            if ((filter.peer && *filter.peer != *peer) || !filter.matches(message)) return;
            auto record = record_of(message, way == Router::Way::to ? "tx" : "rx", filter.full);
            record.set("rank", *peer);
            record.set("name", nullptr);
            entry.request.respond(std::move(record));
        });
    } else if (auto name = names_.module(endpoint)) {
        module_watchers_.for_each([&](auto& entry) {
            const auto& filter = entry.data;
            const auto& wanted = filter.modules;
            if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), *name) == wanted.end()) return;
            if (!filter.matches(message)) return;
            auto record = record_of(message, way == Router::Way::to ? "rx" : "tx", filter.full);
            record.set("rank", -1);
            record.set("name", *name);
            entry.request.respond(std::move(record));
        });
    }
}

} // namespace flux::broker
