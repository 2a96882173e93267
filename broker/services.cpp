// The broker's own services: broker, attr, event, service, module, config, runat, shutdown (broker.md 3).
#include "broker/bootstrap/tbon_table.hpp"
#include "broker/broker.hpp"

#include <flux/base64.hpp>
#include <flux/defaults.hpp>
#include <flux/paths.hpp>
#include <flux/version.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace flux::broker {

void Broker::serve() {
    handle_->serve(Method("broker.ping", MethodClass::read, role_user),
                   [this](Request request) { request.respond(answer_ping(request, rank_)); });
    handle_->serve(Method("broker.rusage", MethodClass::read, role_user),
                   [](Request request) { request.respond(answer_rusage(request.json_or_none())); });
    handle_->serve(Method("broker.stats-get", MethodClass::read, role_all), [this](Request request) {
        request.respond(Json::object("event-sequence", router_.event_sequence(), "modules", host_->names().size()));
    });
    handle_->serve(Method("broker.getenv", MethodClass::read), [](Request request) {
        auto env = Json::object();
        for (const auto& name : request.json().get<std::vector<std::string>>("names")) {
            if (const char* value = std::getenv(name.c_str())) env.set(name, value);
        }
        request.respond(Json::object("env", std::move(env)));
    });
    handle_->serve(Method("broker.setenv", MethodClass::once), [](Request request) {
        for (auto [name, value] : request.json()["env"].members()) {
            if (value.is_null())
                ::unsetenv(std::string(name).c_str());
            else
                ::setenv(std::string(name).c_str(), value.as<std::string>().c_str(), 1);
        }
        request.respond();
    });
    handle_->serve(Method("broker.conf-builtin", MethodClass::read, role_all), [this](Request request) {
        request.respond(Json::object("values", conf_builtin(request.json()["keys"])));
    });
    handle_->serve(Method("runat.push", MethodClass::once), [this](Request request) {
        auto commands = request.json().get<std::vector<std::string>>("commands");
        if (commands.empty()) throw Error(EPROTO, "commands array is empty");
        for (const auto& command : commands) {
            if (command.empty()) throw Error(EPROTO, "cannot push an empty command line");
        }
        cleanup_.insert(cleanup_.end(), commands.begin(), commands.end());
        request.respond();
    });
    serve_attributes();
    serve_events();
    serve_modules();
    serve_traces();
    serve_config();
    serve_shutdown();
    for (const char* name : {"broker", "attr", "log", "event", "service", "module", "runat", "state-machine",
                             "shutdown", "config", "groups", "overlay", "connector-local"}) {
        auto* endpoint = router_.find(uuid_);
        router_.add_service(name, *endpoint);
    }
}

void Broker::serve_task(const Method& method, Task<> (Broker::*function)(Request)) {
    handle_->serve(method, scope_, [this, function](Request request) { return (this->*function)(std::move(request)); });
}

Json Broker::conf_builtin(JsonView keys) const {
    auto values = Json::object();
    for (auto element : keys.elements()) {
        auto key = element.as<std::string>();
        auto value = paths::builtin(key);
        if (!value) throw Error(EINVAL, key + ": invalid key");
        values.set(key, *value);
    }
    return values;
}

Task<> Broker::set_attribute(Request request) {
    auto name = request.json().get<std::string>("name");
    auto value = request.json().get<std::string>("value");
    auto force = request.json().get_or("force", false);
    if (name == "log-stderr-level" || name.starts_with("test-rd.")) {
        // The owner of the setting decides first whether it takes the value.
        auto topic = name == "log-stderr-level" ? "log.setattr" : "testrd.setattr";
        auto payload = Json::object("name", name, "value", value);
        co_await handle_->call(topic, std::move(payload));
    }
    attributes_.set_from_request(name, value, force);
    request.respond();
}

void Broker::serve_attributes() {
    handle_->serve(Method("attr.get", MethodClass::read, role_all), [this](Request request) {
        auto name = request.json().get<std::string>("name");
        auto value = attributes_.get(name);
        if (!value) throw Error(ENOENT);
        request.respond(Json::object("value", *value, "flags", attributes_.is_immutable(name) ? 1 : 0));
    });
    handle_->serve(Method("attr.list", MethodClass::read, role_all),
                   [this](Request request) { request.respond(Json::object("names", attributes_.names())); });
    serve_task(Method("attr.set", MethodClass::once), &Broker::set_attribute);
    handle_->serve(Method("attr.rm", MethodClass::once), [this](Request request) {
        attributes_.remove(request.json().get<std::string>("name"));
        request.respond();
    });
}

void Broker::serve_events() {
    handle_->serve(Method("event.publish", MethodClass::once, role_user), [this](Request request) {
        if (rank_ != 0) throw Error(EPROTO, "this service is only available on rank 0");
        auto payload = request.json();
        auto event = Message::event(payload.get<std::string>("topic"));
        auto flags = payload.get<int>("flags");
        if (flags != 0 && flags != flag_private) throw Error(EPROTO, "invalid event flags");
        event.flags = static_cast<std::uint8_t>(flags);
        if (auto encoded = payload.get_optional<std::string>("payload"))
            event.payload = Payload::from_bytes(base64_decode(*encoded));
        event.credentials = request.credentials();
        request.respond(Json::object("seq", router_.publish(std::move(event))));
    });
    handle_->serve(Method("event.subscribe", MethodClass::once), [this](Request request) {
        auto topic = request.json().get<std::string>("topic");
        if (auto* endpoint = router_.find(request.sender())) router_.subscribe(*endpoint, topic);
        request.respond();
    });
    handle_->serve(Method("event.unsubscribe", MethodClass::once), [this](Request request) {
        auto* endpoint = router_.find(request.sender());
        if (!endpoint || !router_.unsubscribe(*endpoint, request.json().get<std::string>("topic"))) throw Error(ENOENT);
        request.respond();
    });
    handle_->serve(Method("service.add", MethodClass::once, role_user), [this](Request request) {
        auto service = request.json().get<std::string>("service");
        auto* slot = host_->slot_of(request.sender());
        if (!slot) throw Error(ENOENT, "requestor is not local");
        if (service.find('.') != std::string::npos) throw Error(EINVAL, service + ": invalid service name");
        host_->add_service(*slot, service);
        request.respond();
    });
    handle_->serve(Method("service.remove", MethodClass::once, role_user), [this](Request request) {
        auto* slot = host_->slot_of(request.sender());
        if (!slot) throw Error(ENOENT, "requestor is not local");
        host_->remove_service(*slot, request.json().get<std::string>("service"));
        request.respond();
    });
    handle_->serve(Method("service.watch", MethodClass::stream), [this](Request request) {
        request.require_streaming();
        auto service = request.json().get<std::string>("service");
        request.respond(Json::object("up", router_.service(service) && !reloading_.contains(service)));
        service_watchers_.add(request, service);
    });
    handle_->serve(Method("service.cancel", MethodClass::once),
                   [this](Request request) { service_watchers_.cancel(request); });
    handle_->serve(Method("service.disconnect", MethodClass::once),
                   [this](Request request) { service_watchers_.disconnect(request); });
    router_.on_service = [this](const std::string& service, bool up) { on_service_change(service, up); };
}

void Broker::on_service_change(const std::string& service, bool up) {
    if (!up && router_.service(service))
        reloading_.insert(service);
    else
        reloading_.erase(service);
    service_watchers_.for_each([&](auto& entry) {
        if (entry.data == service) entry.request.respond(Json::object("up", up));
    });
}

Task<> Broker::load_module(Request request) {
    auto payload = request.json();
    ModuleSpec spec;
    spec.path = payload.get<std::string>("path");
    spec.name = payload.get_or<std::string>("name", "");
    spec.args = payload.get_or("args", std::vector<std::string>{});
    spec.process = payload.get_or("exec", false);
    co_await host_->load(spec);
    request.respond();
}

Task<> Broker::remove_module(Request request) {
    auto payload = request.json();
    auto name = payload.get<std::string>("name");
    if (router_.service(name) == router_.find(uuid_)) throw Error(EINVAL, name + " is built in and cannot be removed");
    co_await host_->remove(name, payload.get_or("cancel", false), payload.get_or("check", false));
    request.respond();
}

Task<> Broker::reload_module(Request request) {
    auto payload = request.json();
    auto name = payload.get<std::string>("name");
    if (router_.service(name) == router_.find(uuid_)) throw Error(EINVAL, name + " is built in and cannot be reloaded");
    auto path = payload.get_optional<std::string>("path");
    auto args = payload.get_optional<std::vector<std::string>>("args");
    co_await host_->reload(name, path, args);
    request.respond();
}

void Broker::serve_traces() {
    Tracer::Names names;
    names.module = [this](const Endpoint& endpoint) -> std::optional<std::string> {
        if (const auto* slot = dynamic_cast<const ModuleSlot*>(&endpoint)) return slot->spec.name;
        const auto* slot = host_ ? host_->slot_of(endpoint.uuid()) : nullptr;
        if (slot) return slot->spec.name;
        return std::nullopt;
    };
    names.peer = [this](const Endpoint& endpoint) { return overlay_->rank_of(endpoint); };
    tracer_ = std::make_unique<Tracer>(*handle_, router_, std::move(names));
}

void Broker::serve_modules() {
    serve_task(Method("module.load", MethodClass::once), &Broker::load_module);
    serve_task(Method("module.remove", MethodClass::once), &Broker::remove_module);
    serve_task(Method("module.reload", MethodClass::once), &Broker::reload_module);
    handle_->serve(Method("module.list", MethodClass::read, role_user), [this](Request request) {
        auto mods = host_->list();
        for (const char* name : {"config", "connector-local", "groups", "overlay"})
            mods.append(Json::object("name", name, "path", "builtin", "idle", 0, "status", 1, "services",
                                     Json::array_of(name), "sendqueue", 0, "recvqueue", 0));
        request.respond(Json::object("mods", std::move(mods)));
    });
    handle_->serve(Method("module.status", MethodClass::once), [this](Request request) { host_->on_status(request); });
    handle_->serve(Method("module.debug", MethodClass::once), [this](Request request) {
        auto name = request.json().get<std::string>("name");
        if (!host_->loaded(name)) throw Error(ENOENT, fmt::format("module {} is not loaded", name));
        host_->defer(name, request.json().get_or("defer", false));
        request.respond();
    });
}

// Configuration -------------------------------------------------------------------------------------------------

void Broker::require_leader() const {
    if (rank_ != 0) throw Error(EINVAL, "configuration can only be changed on rank 0");
}

Task<> Broker::reload_config(Request request) {
    require_leader();
    if (auto path = attributes_.get("config.path")) {
        auto config = load_config(*path);
        co_await change_config(std::move(config));
    }
    request.respond();
}

Task<> Broker::load_config_object(Request request) {
    require_leader();
    auto config = request.json().copy();
    co_await change_config(std::move(config));
    request.respond();
}

void Broker::serve_config() {
    handle_->serve(Method("config.get", MethodClass::stream, role_user), [this](Request request) {
        request.respond(config_.copy());
        if (request.streaming()) config_watchers_.add(request);
    });
    serve_task(Method("config.reload", MethodClass::once), &Broker::reload_config);
    serve_task(Method("config.load", MethodClass::once), &Broker::load_config_object);
    handle_->serve(Method("config.disconnect", MethodClass::once, role_user),
                   [this](Request request) { config_watchers_.disconnect(request); });
}

// On rank 0 each module may veto a change; then those that were asked get the old one again, and this is told when they
// have it. What rank 0 has is what holds on the others.
Task<> Broker::change_config(Json config) {
    while (changing_config_) co_await config_changed_.wait();
    if (config.equals(config_)) co_return;
    if (rank_ == 0) check_tbon_table(config["tbon"]);
    changing_config_ = true;
    std::vector<std::string> asked;
    auto veto = co_await offer_config(config, asked);
    if (veto) {
        for (const auto& name : asked) {
            auto payload = config_.copy();
            auto call = handle_->call(name + ".config-reload", std::move(payload));
            try {
                co_await call;
            } catch (const Cancelled&) {
                throw;
            } catch (const Error& error) {
                if (error.errnum() != ENOSYS)
                    log(LogLevel::err, fmt::format("config: {} does not go back: {}, ignoring", name, error.what()));
            }
        }
    } else {
        config_ = std::move(config);
        config_watchers_.for_each([this](auto& entry) { entry.request.respond(config_.copy()); });
    }
    changing_config_ = false;
    config_changed_.notify_all();
    if (veto) throw *veto;
}

// \param asked  modules that may have changed something, also the one that says no.
Task<std::optional<Error>> Broker::offer_config(JsonView config, std::vector<std::string>& asked) {
    std::optional<Error> veto;
    auto refused = [&](const std::string& name, const Error& error) {
        veto = Error(error.errnum(), fmt::format("error updating {}: {}", name, error.what()));
        if (rank_ == 0) return;
        log(LogLevel::err, fmt::format("config of rank 0: {}, ignoring", veto->what()));
        veto.reset();
    };
    for (const auto& name : host_->names()) {
        asked.push_back(name);
        auto payload = config.copy();
        auto call = handle_->call(name + ".config-reload", std::move(payload));
        try {
            co_await call;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.errnum() != ENOSYS) refused(name, error);
        }
        if (veto) co_return veto;
    }
    std::optional<LinkKeys> keys;
    try {
        keys = bootstrap_->keys_of(config, overlay_->topology());
    } catch (const Error& error) {
        refused("overlay", error);
    }
    if (veto) co_return veto;
    try {
        connector_->configure(config);
    } catch (const Error& error) {
        refused("connector-local", error);
    }
    if (keys && !veto) overlay_->set_keys(std::make_shared<LinkKeys>(std::move(*keys)));
    co_return veto;
}

Task<> Broker::follow_config(Broker* self) {
    auto options = CallOptions().upstream();
    auto stream = self->handle_->stream("config.get", Payload(), options);
    try {
        for (;;) {
            auto message = co_await stream.next();
            if (!message) break;
            auto config = message->json().copy();
            co_await self->change_config(std::move(config));
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        // The link tells of its loss itself.
    }
}

// Shutdown ------------------------------------------------------------------------------------------------------

void Broker::serve_shutdown() {
    handle_->serve(Method("shutdown.start", MethodClass::once), [this](Request request) {
        if (rank_ != 0) throw Error(EINVAL, "shutdown may only be initiated on rank 0");
        if (stop_requested_) throw Error(EINVAL, "shutdown is already in progress");
        if (machine_.state() != State::run)
            throw Error(EINVAL, fmt::format("shutdown cannot be initiated in state {}", to_string(machine_.state())));
        auto level = request.json_or_none().get_or("loglevel", 3);
        if (request.streaming())
            shutdown_clients_.add(request, level);
        else
            request.respond();
        if (auto code = attributes_.get("broker.exit-norestart")) set_exit_code(std::atoi(code->c_str()));
        request_stop("shutdown");
    });
    handle_->serve(Method("shutdown.disconnect", MethodClass::once),
                   [this](Request request) { shutdown_clients_.disconnect(request); });
    log_.on_record = [this](const LogRecord& record) {
        shutdown_clients_.for_each([&](auto& entry) {
            if (record.severity <= entry.data) entry.request.respond(Json::object("log", record.line() + "\n"));
        });
    };
}

} // namespace flux::broker
