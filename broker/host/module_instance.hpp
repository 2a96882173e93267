// One running copy of a module: its thread or process, and the endpoint that messages reach it by.
#pragma once

#include "broker/router/router.hpp"
#include "broker/router/rpc_tracker.hpp"

#include <flux/library.hpp>
#include <flux/pipe.hpp>
#include <flux/task.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace flux::broker {

/// What to run and how; kept over reloads.
class ModuleSpec {
public:
    ModuleSpec() {}
    std::string name;
    std::string path;
    std::vector<std::string> args;
    bool process = false; ///< in a process of its own instead of a thread of the broker
};

enum class ModuleStatus { init = 0, running = 1, finalizing = 2, exited = 3 };

class ModuleInstance final : public Endpoint {
public:
    /// \param on_message  takes what the module sends.
    ModuleInstance(Loop& loop, std::string uuid, std::function<void(Message, ModuleInstance&)> on_message);
    ~ModuleInstance() override;

    /// Run in a thread, once; when that throws, the object is of no more use. The library must outlive this object's
    /// thread: see gone().
    void start_thread(std::unique_ptr<Library> library);
    /// Run `flux-module-exec` with the module's path, likewise.
    void start_process(const std::string& program, const std::string& path);

    /// Requests, responses, events. Dropped once it is closed.
    void deliver(Message message) override;
    /// No more requests and events, only responses: it is finalizing.
    void close_requests() noexcept { requests_closed_ = true; }
    bool takes_requests() const noexcept { return !requests_closed_ && !gone_; }

    /// Set by the host from `module.status`.
    ModuleStatus status = ModuleStatus::init;
    int errnum = 0;
    std::string text;
    Json handover;     ///< requests and streams given back at reload
    Condition changed; ///< notified when status changes or the code has left

    /// Its code no longer runs: the thread has ended (joined) or the process is dead.
    bool gone() const noexcept { return gone_; }
    /// End a process module at once; a thread cannot be ended from outside.
    void kill() noexcept;
    bool process() const noexcept { return pid_ > 0; }
    /// Take the library back for unloading; nothing while gone() is false or for a process.
    std::unique_ptr<Library> take_library();
    /// Not empty: handles that the module left open; its code must not be unloaded.
    const std::string& open_handles() const noexcept { return exit_.open_handles; }
    std::chrono::steady_clock::time_point last_message() const noexcept { return last_message_; }
    std::size_t backlog() const noexcept { return transport_ ? transport_->backlog() : 0; }
    /// Requests that it has not answered; to be failed when it is gone or hangs.
    std::vector<RpcTracker::Pending> take_pending() { return pending_.take_all(); }
    /// Called once when a process module's connection broke or its process died.
    std::function<void()> on_lost;

private:
    void receive(Message message);
    void thread_ended();
    void process_ended(int wait_status);

    Loop& loop_;
    std::function<void(Message, ModuleInstance&)> on_message_;
    std::unique_ptr<Transport> transport_;
    std::shared_ptr<Channel> channel_;
    std::unique_ptr<Library> library_;
    std::thread thread_;
    ModuleExit exit_;
    RpcTracker pending_; // a process may vanish and a thread hang without a word
    int pid_ = 0;
    std::unique_ptr<ExitWatcher> exit_watcher_;
    bool requests_closed_ = false;
    bool gone_ = true; // until it runs
    std::chrono::steady_clock::time_point last_message_ = std::chrono::steady_clock::now();
};

} // namespace flux::broker
