#include "cmd/follow/monitor.hpp"

#include "cmd/follow/event_watch.hpp"
#include "cmd/follow/outcome.hpp"
#include "cmd/follow/output_printer.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <exception>

namespace flux::follow {
namespace {

constexpr std::string_view exec_prefix = "exec.";

class Monitor {
public:
    Monitor(Handle& handle, Scope& scope, JobId id, MonitorOptions options)
        : handle_(handle),
          id_(id),
          name_(id.f58()),
          options_(std::move(options)),
          followers_(scope),
          printer_(options_.out, options_.err) {
        if (options_.wait_event.starts_with(exec_prefix)) exec_event_ = options_.wait_event.substr(exec_prefix.size());
        printer_.label_ranks(options_.label_io);
        if (options_.label_io) printer_.set_prefix(name_ + ": ");
    }

    Task<int> run() {
        followers_.spawn("main log", &Monitor::follow_main, this);
        co_await followers_.drained();
        if (failure_) std::rethrow_exception(failure_);
        if (arrived_ && !outcome_.status() && !outcome_.fatal_exception()) co_return 0;
        co_return outcome_.exit_code();
    }

private:
    static Task<> follow_main(Monitor* self) {
        try {
            EventWatch watch(self->handle_, self->id_, main_log);
            while (auto item = co_await watch.next()) {
                self->on_main_event(item->event());
                if (self->arrived_) break;
            }
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            self->failure_ = std::make_exception_ptr(error.while_doing(self->name_));
        }
    }

    double since_submit(const EventlogEntry& event) const { return event.timestamp - t_submit_; }

    void on_main_event(const EventlogEntry& event) {
        if (event.name == "submit") {
            t_submit_ = event.timestamp;
            printer_.set_time_base(t_submit_);
        }
        if (options_.on_event) options_.on_event(event);
        const bool ended = outcome_.fatal_exception().has_value();
        outcome_.apply(event);
        if (options_.verbose > 1) show(event.name, event);
        if (event.name == "start" && (options_.output || !exec_event_.empty()))
            followers_.spawn("exec log", &Monitor::follow_exec, this);
        if (outcome_.fatal_exception() && !ended && !shell_exists_)
            fmt::print(options_.err, "job.exception: type={} severity=0 {}\n", *outcome_.fatal_exception(),
                       event.context.get_or("note", std::string()));
        if (event.name == "finish" && options_.verbose == 1) {
            int status = *outcome_.status();
            fmt::print(options_.err, "{}: {:.3f}s: {}: status={}\n", name_, since_submit(event),
                       status == 0 ? "complete" : "failed", status);
        }
        if (event.name == options_.wait_event) arrived_ = true;
    }

    void show(const std::string& name, const EventlogEntry& event) {
        fmt::print(options_.err, "{}: {:.3f}s: {}{}\n", name_, since_submit(event), name,
                   event.context.is_null() ? "" : " " + event.context.dump());
    }

    static Task<> follow_exec(Monitor* self) {
        try {
            EventWatch watch(self->handle_, self->id_, exec_log);
            while (auto item = co_await watch.next()) {
                const auto& name = item->event().name;
                if (name == "shell.init") {
                    self->shell_exists_ = true;
                    if (self->options_.output) self->followers_.spawn("output", &Monitor::follow_output, self);
                }
                if (name == self->exec_event_) {
                    self->followers_.abort();
                    self->arrived_ = true;
                }
                if (name == "shell.init" && self->exec_event_.empty()) break;
            }
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) self->failure_ = std::make_exception_ptr(error.while_doing(self->name_));
        }
    }

    static Task<> follow_output(Monitor* self) {
        try {
            EventWatch watch(self->handle_, self->id_, output_log);
            while (auto item = co_await watch.next()) self->printer_.print(item->event());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) self->failure_ = std::make_exception_ptr(error.while_doing(self->name_));
        }
    }

    Handle& handle_;
    JobId id_;
    std::string name_;
    MonitorOptions options_;
    std::string exec_event_;
    Scope followers_;
    Outcome outcome_;
    OutputPrinter printer_;
    double t_submit_ = 0;
    bool shell_exists_ = false;
    bool arrived_ = false;
    std::exception_ptr failure_;
};

} // namespace

Task<int> monitor(Handle* handle, Scope* scope, JobId id, MonitorOptions options) {
    Monitor monitor(*handle, *scope, id, std::move(options));
    co_return co_await monitor.run();
}

} // namespace flux::follow
