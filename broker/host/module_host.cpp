#include "broker/host/module_host.hpp"

#include "broker/host/pool_work.hpp"

#include <flux/base64.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <sys/random.h>
#include <unistd.h>

namespace flux::broker {
namespace {

// A process module that dies this often within a minute is not started again.
constexpr std::size_t max_deaths = 3;

// Waits for a condition of a module copy, but not for ever.
class Limit {
public:
    Limit(Loop& loop, Condition& condition, std::chrono::nanoseconds time)
        : timer_(loop, [this, &condition] {
              passed_ = true;
              condition.notify_all();
          }) {
        timer_.start(time);
    }
    bool passed() const noexcept { return passed_; }

private:
    bool passed_ = false;
    Timer timer_;
};

std::string base_name(const std::string& path) {
    auto name = path.substr(path.rfind('/') + 1);
    return name.substr(0, name.find('.'));
}

std::vector<Message> decode_requests(JsonView list) {
    std::vector<Message> requests;
    for (auto entry : list.elements()) requests.push_back(decode_body(base64_decode(entry.as<std::string_view>())));
    return requests;
}

} // namespace

std::string make_uuid() {
    unsigned char bytes[16];
    if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw Error(EIO, "no random numbers");
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | 0x40);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);
    std::string text;
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", bytes[i]);
    }
    return text;
}

/// Marks a slot as being worked on for a block.
class ModuleHost::Busy {
public:
    Busy(ModuleHost& host, ModuleSlot& slot) : host_(host), slot_(&slot) { slot.busy = true; }
    ~Busy() {
        if (!slot_) return;
        slot_->busy = false;
        slot_->idle.notify_all();
        // It may have died meanwhile, when nobody could look after it.
        if (auto* instance = slot_->instance.get(); instance && instance->gone()) host_.died(slot_->spec.name);
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    /// The slot is about to be destroyed.
    void abandon() { slot_ = nullptr; }

private:
    ModuleHost& host_;
    ModuleSlot* slot_;
};

ModuleHost::ModuleHost(Loop& loop, Router& router, Scope& scope, Environment environment)
    : loop_(loop), router_(router), scope_(scope), environment_(std::move(environment)) {}

ModuleHost::~ModuleHost() = default;

// Finding and opening -------------------------------------------------------------------------------------------

std::string ModuleHost::find_file(const std::string& path) const {
    if (path.find('/') != std::string::npos) {
        char* real = ::realpath(path.c_str(), nullptr);
        if (!real) throw Error(errno, fmt::format("{}: {}", path, errno_text(errno)));
        std::string result(real);
        ::free(real);
        return result;
    }
    for (const auto& folder : environment_.search) {
        auto file = folder + "/" + path + ".so";
        if (::access(file.c_str(), R_OK) == 0) return file;
    }
    throw Error(ENOENT, fmt::format("{}: module not found in search path", path));
}

Task<std::unique_ptr<Library>> ModuleHost::open(const ModuleSpec& spec) {
    std::unique_ptr<Library> library;
    auto work = [&] { library = Library::open(spec.path, environment_.copies, module_library); };
    PoolWork opening(work);
    co_await opening;
    const char* own_name = library->table<ModuleTable>().name;
    if (own_name && *own_name && spec.name != own_name && base_name(spec.path) == spec.name)
        throw Error(EINVAL, fmt::format("mod_name {} != name {}", own_name, spec.name));
    co_return std::move(library);
}

// Wait until nobody else works on the module of that name. Nothing when it is not loaded.
Task<ModuleSlot*> ModuleHost::claim(std::string name) {
    for (;;) {
        auto found = slots_.find(name);
        if (found == slots_.end()) throw Error(ENOENT, fmt::format("module {} is not loaded", name));
        auto* slot = found->second.get();
        if (!slot->busy) co_return slot;
        co_await slot->idle.wait();
    }
}

// Starting ------------------------------------------------------------------------------------------------------

Task<> ModuleHost::load(ModuleSpec spec) {
    bool by_path = spec.path.find('/') != std::string::npos;
    if (spec.name.empty()) spec.name = by_path ? base_name(spec.path) : spec.path;
    if (slots_.contains(spec.name)) throw Error(EEXIST, fmt::format("module {} is already loaded", spec.name));
    spec.path = find_file(spec.path);
    auto name = spec.name;
    auto owned = std::make_unique<ModuleSlot>(router_, std::move(spec));
    auto& slot = *owned;
    if (!router_.add_service(name, slot)) throw Error(EEXIST, fmt::format("service {} exists already", name));
    slots_.emplace(name, std::move(owned));
    Busy busy(*this, slot);
    std::exception_ptr failure;
    try {
        std::unique_ptr<Library> library;
        if (!slot.spec.process) library = co_await open(slot.spec);
        co_await start(slot, std::move(library), Json());
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure) {
        busy.abandon();
        discard(slot);
        std::rethrow_exception(failure);
    }
    slot.release();
}

Task<> ModuleHost::start(ModuleSlot& slot, std::unique_ptr<Library> library, Json resume) {
    auto on_message = [this](Message message, ModuleInstance& instance) {
        router_.route(std::move(message), instance);
    };
    slot.instance = std::make_unique<ModuleInstance>(loop_, make_uuid(), on_message);
    auto& instance = *slot.instance;
    router_.add(instance);
    try {
        if (slot.spec.process) {
            instance.on_lost = [this, name = slot.spec.name] { died(name); };
            instance.start_process(environment_.exec_program, slot.spec.path);
        } else {
            instance.start_thread(std::move(library));
        }
    } catch (const Error&) {
        bury(slot);
        throw;
    }

    auto welcome = Message::request("welcome");
    welcome.set(flag_noresponse);
    welcome.credentials = {::getuid(), role_owner | role_local};
    auto payload = Json::object("args", nullptr, "attrs", environment_.attributes(), "conf", environment_.config(),
                                "name", slot.spec.name, "uuid", instance.uuid());
    if (!slot.spec.args.empty()) payload.set("args", slot.spec.args);
    if (resume.is_array() && !resume.empty()) payload.set("resume", std::move(resume));
    welcome.payload = Payload::from_json(std::move(payload));
    instance.deliver(std::move(welcome));

    Limit limit(loop_, instance.changed, environment_.start_limit);
    while (instance.status == ModuleStatus::init && !instance.gone() && !limit.passed())
        co_await instance.changed.wait();
    if (instance.status == ModuleStatus::running) {
        for (const auto& service : slot.services) {
            if (!slot.re_added.contains(service)) router_.remove_service(service);
        }
        slot.services = std::exchange(slot.re_added, {});
        co_return;
    }
    bool late = limit.passed() && instance.status == ModuleStatus::init;
    Error why(instance.errnum ? instance.errnum : ECONNRESET, instance.text);
    if (late) {
        why = Error(ETIMEDOUT, fmt::format("module {}: start did not finish in time", slot.spec.name));
        instance.kill();
        if (!instance.process()) co_await shut_down(slot);
    } else {
        Limit leave(loop_, instance.changed, environment_.stop_limit);
        while (!instance.gone() && !leave.passed()) co_await instance.changed.wait();
    }
    bury(slot);
    throw why;
}

// Stopping ------------------------------------------------------------------------------------------------------

Task<> ModuleHost::shut_down(ModuleSlot& slot) { co_await stop(slot, false, false); }

Task<> ModuleHost::stop(ModuleSlot& slot, bool handover, bool kill) {
    auto& instance = *slot.instance;
    instance.on_lost = nullptr;
    if (kill) instance.kill();
    auto request = Message::request(slot.spec.name + ".shutdown");
    request.set(flag_noresponse);
    request.credentials = {::getuid(), role_owner | role_local};
    if (handover) request.payload = Payload::from_json(Json::object("handover", true));
    instance.deliver(std::move(request));
    Limit limit(loop_, instance.changed, environment_.stop_limit);
    while (!instance.gone() && !limit.passed()) co_await instance.changed.wait();
    if (!instance.gone()) instance.kill();
}

// Put away a copy that has ended (or hangs): unload its code, or say why not.
void ModuleHost::bury(ModuleSlot& slot) {
    auto instance = std::move(slot.instance);
    if (!instance) return;
    router_.remove(*instance);
    // What a reloaded copy had open was handed over; of one that died or hangs nobody else will answer it.
    auto pending = instance->take_pending();
    if (!instance->handover.is_object()) {
        for (const auto& rpc : pending) router_.fail(rpc.request, EHOSTUNREACH, "module disconnect");
    }
    if (!instance->gone() && !instance->process()) {
        environment_.log(LogLevel::crit,
                         fmt::format("module {} does not stop: its thread and code stay behind", slot.spec.name));
        hung_.push_back(std::move(instance));
        return;
    }
    auto library = instance->take_library();
    if (!library) return;
    if (!instance->open_handles().empty()) {
        environment_.log(LogLevel::err, fmt::format("module {} left handles open ({}): its code stays loaded",
                                                    slot.spec.name, instance->open_handles()));
        (void)library.release();
    } else if (!library->unload()) {
        environment_.log(LogLevel::warning,
                         fmt::format("module {}: something pins its code: it stays loaded", slot.spec.name));
    }
}

void ModuleHost::discard(ModuleSlot& slot) {
    // First: it may have been a client of its own services, which are to be told that it is gone.
    for (const auto& service : slot.services) router_.remove_service(service);
    for (const auto& service : slot.re_added) router_.remove_service(service);
    router_.remove_service(slot.spec.name);
    bury(slot);
    slot.refuse();
    // Others may wait for the slot: they look it up again by name.
    auto owned = std::move(slots_.find(slot.spec.name)->second);
    slots_.erase(slot.spec.name);
    owned->idle.notify_all();
    loop_.post([slot = std::shared_ptr<ModuleSlot>(std::move(owned))] {});
}

Task<> ModuleHost::remove(std::string name, bool kill, bool check) {
    if (name.find('/') != std::string::npos) {
        for (const auto& [slot_name, slot] : slots_) {
            if (slot->spec.path == name) name = slot_name;
        }
    }
    auto& slot = *co_await claim(name);
    if (check) {
        auto needed_by = environment_.dependants(name);
        if (!needed_by.empty()) {
            std::string list;
            for (const auto& other : needed_by) list += (list.empty() ? "" : ", ") + other;
            throw Error(EBUSY, fmt::format("module {} is needed by {}", name, list));
        }
    }
    Busy busy(*this, slot);
    co_await stop(slot, false, kill);
    busy.abandon();
    discard(slot);
}

// Reload --------------------------------------------------------------------------------------------------------

Task<> ModuleHost::reload(std::string name, std::optional<std::string> path,
                          std::optional<std::vector<std::string>> args) {
    auto& slot = *co_await claim(name);
    Busy busy(*this, slot);
    auto next = slot.spec;
    if (path) next.path = find_file(*path);
    if (args) next.args = *args;
    // The new file is opened while the old code serves: a bad one changes nothing.
    std::unique_ptr<Library> library;
    if (!next.process) library = co_await open(next);

    slot.hold();
    if (router_.on_service) router_.on_service(name, false);
    co_await stop(slot, true, false);
    Json streams = Json::array();
    std::vector<Message> returned;
    if (slot.instance->handover.is_object()) {
        returned = decode_requests(slot.instance->handover["returned"]);
        streams = slot.instance->handover["streams"].copy();
    }
    bury(slot);
    slot.give_back(std::move(returned));

    auto previous = std::exchange(slot.spec, next);
    std::exception_ptr failure;
    try {
        co_await start(slot, std::move(library), streams.copy());
    } catch (...) {
        failure = std::current_exception();
    }
    if (!failure) {
        slot.release();
        if (router_.on_service) router_.on_service(name, true);
        co_return;
    }
    // The new code would not start: the old one goes on with the same streams.
    slot.spec = previous;
    std::exception_ptr second;
    try {
        std::unique_ptr<Library> old;
        if (!previous.process) old = co_await open(previous);
        co_await start(slot, std::move(old), std::move(streams));
    } catch (...) {
        second = std::current_exception();
    }
    std::string why;
    int errnum = EINVAL;
    try {
        std::rethrow_exception(failure);
    } catch (const Error& error) {
        why = error.what();
        errnum = error.errnum();
    }
    if (second) {
        busy.abandon();
        discard(slot);
        environment_.panic(name, "reload failed and the previous code does not start either");
        throw Error(errnum, fmt::format("module {}: {}; the previous code does not start either", name, why));
    }
    slot.release();
    if (router_.on_service) router_.on_service(name, true);
    throw Error(errnum, fmt::format("module {}: new code failed to start: {}; the previous code goes on", name, why));
}

// What running modules say --------------------------------------------------------------------------------------

ModuleSlot* ModuleHost::slot_of(std::string_view uuid) const {
    for (const auto& [name, slot] : slots_) {
        if (slot->instance && slot->instance->uuid() == uuid) return slot.get();
    }
    return nullptr;
}

void ModuleHost::on_status(const Request& request) {
    auto* slot = slot_of(request.sender());
    if (!slot) throw Error(EPROTO, "module.status is for modules");
    auto& instance = *slot->instance;
    auto payload = request.json();
    auto status = static_cast<ModuleStatus>(payload.get<int>("status"));
    if (status <= instance.status) throw Error(EINVAL, "module status can only increase");
    instance.status = status;
    switch (status) {
    case ModuleStatus::init:
    case ModuleStatus::running: break;
    case ModuleStatus::finalizing:
        instance.close_requests();
        if (payload["handover"].is_object()) instance.handover = payload["handover"].copy();
        break;
    case ModuleStatus::exited:
        instance.close_requests();
        instance.errnum = payload.get_or("errnum", 0);
        instance.text = payload.get_or<std::string>("text", "");
        // Requests that were delivered while it stopped, but never begun.
        if (instance.handover.is_object()) {
            for (auto late : payload["returned"].elements()) instance.handover.array_at("returned").append(late);
        }
        if (!slot->busy) died(slot->spec.name);
        break;
    }
    instance.changed.notify_all();
    request.respond();
}

void ModuleHost::add_service(ModuleSlot& slot, const std::string& service) {
    if (slot.holding() && slot.services.contains(service)) {
        slot.re_added.insert(service); // its registration was kept over the reload
        return;
    }
    if (!router_.add_service(service, slot))
        throw Error(EEXIST, fmt::format("could not register service {} for module {}: {}", service, slot.spec.name,
                                        errno_text(EEXIST)));
    (slot.holding() ? slot.re_added : slot.services).insert(service);
}

void ModuleHost::remove_service(ModuleSlot& slot, const std::string& service) {
    if (!router_.service(service)) throw Error(ENOENT, service + " is not registered");
    if (!slot.services.erase(service) && !slot.re_added.erase(service))
        throw Error(EINVAL, "requestor did not register " + service);
    router_.remove_service(service);
}

// A copy ended without being asked to.
void ModuleHost::died(std::string name) {
    auto found = slots_.find(name);
    if (found == slots_.end() || found->second->busy) return;
    scope_.spawn(
        "module restart", [](ModuleHost* host, std::string name) { return host->restart(std::move(name)); }, this,
        std::move(name));
}

Task<> ModuleHost::restart(std::string name) {
    auto& slot = *co_await claim(name);
    Busy busy(*this, slot);
    slot.hold();
    auto& instance = *slot.instance;
    Limit limit(loop_, instance.changed, environment_.stop_limit);
    while (!instance.gone() && !limit.passed()) co_await instance.changed.wait();
    std::string why =
        instance.text.empty() ? errno_text(instance.errnum ? instance.errnum : ECONNRESET) : instance.text;
    bool process = instance.process();
    environment_.log(LogLevel::err, fmt::format("module {} died: {}", name, why));
    bury(slot);
    if (router_.on_service) router_.on_service(name, false);
    auto now = std::chrono::steady_clock::now();
    while (!slot.deaths.empty() && now - slot.deaths.front() > std::chrono::minutes(1)) slot.deaths.pop_front();
    slot.deaths.push_back(now);
    while (process && slot.deaths.size() < max_deaths) {
        constexpr std::chrono::milliseconds delays[] = {std::chrono::milliseconds(100),
                                                        std::chrono::milliseconds(1000)};
        co_await sleep_for(delays[slot.deaths.size() - 1]);
        bool started = false;
        try {
            co_await start(slot, nullptr, Json());
            started = true;
        } catch (const Error& error) {
            environment_.log(LogLevel::err, fmt::format("module {} cannot be started again: {}", name, error.what()));
        }
        if (started) {
            slot.release();
            if (router_.on_service) router_.on_service(name, true);
            co_return;
        }
        slot.deaths.push_back(std::chrono::steady_clock::now());
    }
    busy.abandon();
    discard(slot);
    environment_.panic(name, why);
}

std::vector<std::string> ModuleHost::names() const {
    std::vector<std::string> result;
    for (const auto& [name, slot] : slots_) result.push_back(name);
    return result;
}

void ModuleHost::defer(const std::string& name, bool on) {
    auto& slot = *slots_.find(name)->second;
    if (slot.busy) throw Error(EBUSY, fmt::format("module {} is being loaded or removed", name));
    if (on)
        slot.hold();
    else
        slot.release();
}

Json ModuleHost::list() const {
    auto mods = Json::array();
    auto now = std::chrono::steady_clock::now();
    for (const auto& [name, slot] : slots_) {
        auto services = Json::array_of(name);
        for (const auto& service : slot->services) services.append(service);
        auto* instance = slot->instance.get();
        auto idle =
            instance ? std::chrono::duration_cast<std::chrono::seconds>(now - instance->last_message()).count() : 0;
        mods.append(Json::object("name", name, "path", slot->spec.path, "idle", idle, "status",
                                 instance ? static_cast<int>(instance->status) : 0, "services", std::move(services),
                                 "sendqueue", instance ? instance->backlog() : 0, "recvqueue", 0));
    }
    return mods;
}

} // namespace flux::broker
