// The life of one module on its own thread: welcome, start, RUNNING, shutdown or hand-over, EXITED (broker.md 4.1).
// Nothing made by the module's code is alive when run_module() returns.
#include "libflux/rpc/handle_state.hpp"

#include <flux/base64.hpp>
#include <flux/defaults.hpp>
#include <flux/module.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <unistd.h>

namespace flux {
namespace {

// How long requests of class `once` may take to finish when the module is replaced.
constexpr auto once_grace = std::chrono::seconds(5);
// How long to wait for the broker to stop delivering.
constexpr auto finalizing_limit = std::chrono::seconds(10);

enum class ModuleStatus { init = 0, running = 1, finalizing = 2, exited = 3 };

} // namespace

class ModuleRuntime {
public:
    ModuleRuntime(Loop& loop, const ModuleTable& table, std::unique_ptr<Transport> transport)
        : loop_(loop),
          table_(table),
          handle_(loop, std::make_unique<Counting>(*this, std::move(transport))),
          scope_(loop,
                 [this](const char* what, const std::exception& error) {
                     handle_.log(LogLevel::err, fmt::format("{}: {}", what, error.what()));
                 }),
          control_(loop),
          context_(*this) {
        handle_.serve(Method("welcome", MethodClass::once),
                      [this](Request request) { on_welcome(std::move(request)); });
        handle_.on_closed([this](const Error& error) { on_closed(error); });
    }

    ModuleExit run() {
        loop_.run();
        return exit_;
    }

    Handle& handle() noexcept { return handle_; }
    Scope& scope() noexcept { return scope_; }
    JsonView welcome() const noexcept { return welcome_; }
    JsonView config() const noexcept { return config_; }
    const std::string& name() const noexcept { return name_; }
    const std::string& uuid() const noexcept { return uuid_; }
    const std::vector<std::string>& args() const noexcept { return args_; }
    bool reloading() const noexcept { return reloading_; }
    Json message_counts() const {
        auto side = [](const std::uint64_t* counts) {
            return Json::object("request", counts[0], "response", counts[1], "event", counts[2], "control", counts[3]);
        };
        return Json::object("tx", side(sent_), "rx", side(received_));
    }

private:
    /// Counts what passes, for the default stats.
    class Counting final : public Transport {
    public:
        Counting(ModuleRuntime& runtime, std::unique_ptr<Transport> below)
            : runtime_(runtime), below_(std::move(below)) {}
        void start(OnMessage on_message, OnClosed on_closed) override {
            below_->start(
                [this, on_message = std::move(on_message)](Message message) {
                    ++runtime_.received_[index(message.type)];
                    on_message(std::move(message));
                },
                std::move(on_closed));
        }
        void send(Message message) override {
            ++runtime_.sent_[index(message.type)];
            below_->send(std::move(message));
        }
        std::size_t backlog() const noexcept override { return below_->backlog(); }
        std::function<void(Message)> injector() override { return below_->injector(); }
        void flush(std::chrono::nanoseconds limit) noexcept override { below_->flush(limit); }

    private:
        static int index(MessageType type) noexcept {
            switch (type) {
            case MessageType::request: return 0;
            case MessageType::response: return 1;
            case MessageType::event: return 2;
            case MessageType::control: return 3;
            }
            return 3;
        }
        ModuleRuntime& runtime_;
        std::unique_ptr<Transport> below_;
    };

    void on_welcome(Request request) {
        if (!name_.empty()) return;
        welcome_ = request.json().copy();
        name_ = welcome_.get<std::string>("name");
        uuid_ = welcome_.get<std::string>("uuid");
        if (welcome_["args"].is_array()) args_ = welcome_.get<std::vector<std::string>>("args");
        config_ = welcome_["conf"].copy();
        if (!config_.is_object()) config_ = Json::object();
        handle_.set_log_name(name_);
        if (auto rank = welcome_["attrs"]["rank"].try_as<std::string>())
            handle_.state_->log_rank = static_cast<std::uint32_t>(std::strtoul(rank->c_str(), nullptr, 10));
        serve_defaults();
        control_.spawn(
            "module start", [](ModuleRuntime* self) { return self->boot(); }, this);
    }

    Task<> boot() {
        Error failure(ECONNRESET);
        bool failed = false;
        try {
            module_ = table_.create(context_);
            co_await start_module();
            co_return;
        } catch (const Error& error) {
            failure = Error(error.errnum(), error.text());
            failed = true;
        } catch (const std::exception& error) {
            failure = Error(ECONNRESET, error.what());
            failed = true;
        } catch (...) {
            failure = Error(ECONNRESET, "module threw an unknown exception");
            failed = true;
        }
        if (failed) co_await finish(failure.errnum(), failure.what());
    }

    // The module's start is a task of its own scope: a shutdown that comes before it is done aborts it.
    Task<> start_module() {
        Condition done;
        bool ended = false;
        std::exception_ptr failure;
        scope_.spawn("start", &ModuleRuntime::run_start, this, &done, &ended, &failure);
        while (!ended) co_await done.wait();
        if (failure) std::rethrow_exception(failure);
        for (auto entry : welcome_["resume"].elements()) resume_one(entry);
        welcome_.erase("resume");
        module_->resumed();
        running_ = true;
        co_await handle_.call("module.status", Json::object("status", static_cast<int>(ModuleStatus::running)));
    }

    static Task<> run_start(ModuleRuntime* self, Condition* done, bool* ended, std::exception_ptr* failure) {
        try {
            co_await self->module_->start();
        } catch (...) {
            *failure = std::current_exception();
        }
        *ended = true;
        done->notify_all();
    }

    void resume_one(JsonView entry) {
        auto message = decode_body(base64_decode(entry.get<std::string_view>("request")));
        Request request(new Request::State(*handle_.state_, std::move(message)));
        request.state_->method_class = MethodClass::stream;
        try {
            module_->resume(request, entry["cursor"]);
        } catch (const Error& error) {
            request.fail(error);
        }
    }

    void serve_defaults() {
        auto add = [this](std::string_view method, std::uint32_t roles, void (ModuleRuntime::*function)(Request)) {
            handle_.serve(Method(name_ + "." + std::string(method), MethodClass::read, roles),
                          [this, function](Request request) { (this->*function)(std::move(request)); });
        };
        add("ping", role_user, &ModuleRuntime::on_ping);
        add("stats-get", role_all, &ModuleRuntime::on_stats_get);
        add("stats-clear", role_owner, &ModuleRuntime::on_stats_clear);
        add("rusage", role_user, &ModuleRuntime::on_rusage);
        add("debug", role_owner, &ModuleRuntime::on_debug);
        add("config-reload", role_owner, &ModuleRuntime::on_config);
        add("config-update", role_owner, &ModuleRuntime::on_config);
        add("shutdown", role_owner, &ModuleRuntime::on_shutdown);
    }

    void on_ping(Request request) { request.respond(answer_ping(request, handle_.state_->log_rank)); }

    void on_stats_get(Request request) {
        if (!module_) throw Error(EAGAIN, name_ + " is starting");
        request.respond(module_->stats());
    }

    void on_stats_clear(Request request) {
        for (auto* counts : {sent_, received_}) std::fill(counts, counts + 4, 0);
        request.respond();
    }

    void on_rusage(Request request) { request.respond(answer_rusage(request.json_or_none())); }

    void on_debug(Request request) {
        auto payload = request.json();
        auto op = payload.get<std::string>("op");
        auto bits = payload.get<std::uint32_t>("flags");
        if (op == "setbit")
            debug_ |= bits;
        else if (op == "clrbit")
            debug_ &= ~std::uint64_t(bits);
        else if (op == "set")
            debug_ = bits;
        else if (op == "clr")
            debug_ = 0;
        else
            throw Error(EPROTO, "unknown debug operation '" + op + "'");
        if (module_) module_->debug_changed(debug_);
        request.respond(Json::object("flags", debug_));
    }

    void on_config(Request request) {
        auto config = request.json().copy();
        if (module_) module_->config_changed(config); // may veto by throwing
        config_ = std::move(config);
        request.respond();
    }

    void on_shutdown(Request request) {
        if (std::exchange(stopping_, true)) return;
        bool handover = request.json_or_none().get_or("handover", false);
        control_.spawn(
            "module stop", [](ModuleRuntime* self, bool handover) { return self->stop(handover); }, this, handover);
    }

    Task<> stop(bool handover) {
        Json state = Json::object();
        reloading_ = handover;
        if (handover) {
            // What arrives from here on was not begun: it goes back, whatever its class.
            handle_.state_->services.clear();
            handle_.serve_unknown([this](const Request& request) {
                give_back(request.state_);
                return true;
            });
            co_await finish_once_requests();
            collect_handover();
        }
        co_await stop_module();
        if (handover) {
            state.set("handover", Json::object("returned", std::move(returned_), "streams", std::move(streams_)));
        }
        // The answer means that nothing more will be delivered; what was delivered before is returned too.
        state.set("status", static_cast<int>(ModuleStatus::finalizing));
        returned_ = Json::array();
        try {
            co_await handle_.call("module.status", std::move(state), CallOptions().deadline(finalizing_limit));
        } catch (const Error&) {
            // The broker is gone or stuck; there is nobody left to tell.
        }
        report_exit(0, {}, std::move(returned_));
    }

    bool once_pending() const {
        for (auto* request = handle_.state_->requests; request; request = request->next) {
            if (request->done || request->message.noresponse() || request->message.untagged()) continue;
            if (request->method_class == MethodClass::once) return true;
        }
        return false;
    }

    Task<> finish_once_requests() {
        Condition answered;
        handle_.state_->request_done = &answered;
        bool late = false;
        Timer limit(loop_, [&] {
            late = true;
            answered.notify_all();
        });
        limit.start(once_grace);
        while (once_pending() && !late) co_await answered.wait();
        handle_.state_->request_done = nullptr;
    }

    void give_back(Request::State* request) {
        if (request->done) return;
        returned_.append(base64_encode(encode_body(request->message)));
        request->done = true;
    }

    void collect_handover() {
        std::vector<Request> open;
        for (auto* request = handle_.state_->requests; request; request = request->next) {
            if (request->done || request->message.noresponse() || request->message.untagged()) continue;
            ++request->references;
            open.push_back(Request(request));
        }
        for (auto& request : open) {
            auto* state = request.state_;
            auto cursor = module_ ? module_->park(request) : std::nullopt;
            if (cursor) {
                streams_.append(
                    Json::object("request", base64_encode(encode_body(state->message)), "cursor", std::move(*cursor)));
                state->done = true;
            } else if (state->method_class == MethodClass::once) {
                request.fail(EHOSTUNREACH, state->message.topic + ": module was reloaded, outcome unknown");
            } else if (state->method_class == MethodClass::stream) {
                request.fail(ECONNRESET, state->message.topic + ": module was reloaded");
            } else {
                give_back(state);
            }
        }
    }

    Task<> stop_module() {
        handle_.state_->finalizing = true; // what its tasks drop is answered as if it were gone
        co_await scope_.close();
        if (!module_) co_return;
        try {
            co_await module_->stop();
        } catch (const std::exception& error) {
            handle_.log(LogLevel::err, fmt::format("stop: {}", error.what()));
        }
        handle_.state_->services.clear();
        handle_.state_->subscriptions.clear();
        handle_.state_->untagged.clear();
        // Those that still wait for a response would call into the module; what they own may end calls when it goes.
        std::vector<std::function<void(Message)>> callbacks;
        for (auto& [matchtag, call] : handle_.state_->calls)
            callbacks.push_back(std::exchange(call.state->callback, nullptr));
        callbacks.clear();
        table_.destroy(std::exchange(module_, nullptr));
    }

    Task<> finish(int errnum, std::string text) {
        if (std::exchange(stopping_, true)) co_return;
        co_await stop_module();
        report_exit(errnum, std::move(text), Json::array());
    }

    void report_exit(int errnum, std::string text, Json returned) {
        auto state = Json::object("status", static_cast<int>(ModuleStatus::exited), "errnum", errnum);
        if (!text.empty()) state.set("text", text);
        if (!returned.empty()) state.set("returned", std::move(returned));
        handle_.notify("module.status", std::move(state));
        exit_.errnum = errnum;
        exit_.text = std::move(text);
        loop_.post([this] {
            handle_.flush();
            loop_.stop();
        });
    }

    void on_closed(const Error& error) {
        // Only a process module can lose its broker: it ends.
        exit_.errnum = error.errnum();
        exit_.text = error.what();
        if (std::exchange(stopping_, true)) {
            loop_.stop();
            return;
        }
        control_.spawn(
            "broker lost", [](ModuleRuntime* self) { return self->orphaned(); }, this);
    }

    Task<> orphaned() {
        co_await stop_module();
        loop_.stop();
    }

    Loop& loop_;
    const ModuleTable& table_;
    std::uint64_t sent_[4] = {};
    std::uint64_t received_[4] = {};
    Handle handle_;
    Json welcome_;
    Json config_ = Json::object();
    Json returned_ = Json::array();
    Json streams_ = Json::array();
    std::string name_;
    std::string uuid_;
    std::vector<std::string> args_;
    std::uint64_t debug_ = 0;
    Module* module_ = nullptr;
    bool running_ = false;
    bool stopping_ = false;
    bool reloading_ = false;
    ModuleExit exit_;
    Scope scope_;   // the module's own tasks
    Scope control_; // ours: start and stop of the module
    ModuleContext context_;
};

ModuleExit run_module(const ModuleTable& table, const std::function<std::unique_ptr<Transport>(Loop&)>& connect) {
    auto loop = std::make_unique<Loop>();
    ModuleExit exit;
    {
        ModuleRuntime runtime(*loop, table, connect(*loop));
        exit = runtime.run();
    }
    exit.open_handles = loop->close();
    // A loop that cannot be closed is leaked: its handles' callbacks point into it.
    if (!exit.open_handles.empty()) loop.release();
    return exit;
}

// Module --------------------------------------------------------------------------------------------------------

Handle& ModuleContext::handle() noexcept { return runtime_.handle(); }
Scope& ModuleContext::scope() noexcept { return runtime_.scope(); }
ModuleRuntime& ModuleContext::runtime() noexcept { return runtime_; }

Module::~Module() = default;

Json Module::stats() { return context_.runtime().message_counts(); }
const std::string& Module::name() const { return context_.runtime().name(); }
const std::string& Module::uuid() const { return context_.runtime().uuid(); }
const std::vector<std::string>& Module::args() const { return context_.runtime().args(); }
JsonView Module::config() const { return context_.runtime().config(); }
bool Module::reloading() const noexcept { return context_.runtime().reloading(); }

std::optional<std::string> Module::arg(std::string_view key) const {
    for (const auto& arg : args()) {
        if (arg == key) return "";
        if (arg.size() > key.size() && arg.starts_with(key) && arg[key.size()] == '=')
            return arg.substr(key.size() + 1);
    }
    return std::nullopt;
}

std::string Module::attr(std::string_view name) const {
    auto value = context_.runtime().welcome()["attrs"][name].try_as<std::string>();
    if (!value) throw Error(ENOENT, "attribute '" + std::string(name) + "' is not set");
    return *value;
}

std::uint32_t Module::rank() const { return static_cast<std::uint32_t>(std::stoul(attr("rank"))); }
std::uint32_t Module::size() const { return static_cast<std::uint32_t>(std::stoul(attr("size"))); }

Task<> Module::add_service(std::string service) {
    auto payload = Json::object("service", service);
    co_await handle().call("service.add", std::move(payload));
}

} // namespace flux
