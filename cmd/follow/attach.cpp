#include "cmd/follow/attach.hpp"

#include "cmd/follow/event_watch.hpp"
#include "cmd/follow/interrupts.hpp"
#include "cmd/follow/outcome.hpp"
#include "cmd/follow/output_printer.hpp"
#include "cmd/follow/output_tail.hpp"
#include "cmd/follow/standard_input.hpp"
#include "cmd/follow/status_line.hpp"
#include "cmd/follow/terminal.hpp"

#include <flux/io_data.hpp>
#include <flux/job_state.hpp>
#include <flux/taskmap.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>

namespace flux::follow {
namespace {

constexpr const char* program = "flux-job";

class Attach {
public:
    Attach(cmd::Context& context, JobId id, AttachOptions options)
        : handle_(context.handle()),
          id_(id),
          options_(std::move(options)),
          followers_(context.scope()),
          input_(context.scope()),
          printer_(stdout, stderr),
          status_line_(context.loop(), id, options_.show_status),
          interrupts_(context, id, !options_.read_only, [this] { followers_.abort(); }) {
        printer_.label_ranks(options_.label_io);
        printer_.be_quiet(options_.quiet);
        printer_.be_verbose(options_.verbose);
    }

    Task<int> run() {
        followers_.spawn("main log", &Attach::follow_main, this);
        co_await followers_.drained();
        co_await input_.close();
        status_line_.clear();
        if (failure_) std::rethrow_exception(failure_);
        if (interrupts_.detached()) {
            fmt::print(stderr, "{}: detaching...\n", program);
            co_return 0;
        }
        if (auto status = outcome_.status(); status && *status != 0)
            fmt::print(stderr, "{}: {}\n", program, describe_job_failure(*status));
        co_return outcome_.exit_code();
    }

private:
    double since_submit(const EventlogEntry& event) const { return event.timestamp - t_submit_; }

    void show(const char* log, const EventlogEntry& event) {
        status_line_.clear();
        fmt::print(stderr, "{:.3f}s: {}.{}{}\n", since_submit(event), log, event.name,
                   event.context.is_null() ? "" : " " + event.context.dump());
    }

    void show_exception(const EventlogEntry& event) {
        status_line_.clear();
        JsonView context = event.context;
        fmt::print(stderr, "{:.3f}s: job.exception {} type={} severity={} {}\n", since_submit(event), id_.f58(),
                   context.get<std::string_view>("type"), context.get<int>("severity"),
                   context.get_or("note", std::string()));
    }

    static Task<> follow_main(Attach* self) {
        try {
            EventWatch watch(self->handle_, self->id_, main_log);
            while (auto item = co_await watch.next()) {
                self->on_main_event(item->event());
                if (item->event().name == self->options_.wait_event) break;
            }
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            std::string why = error.what();
            if (error.errnum() == ENOENT) why = "No such job";
            if (error.errnum() == EPERM) why = "that is not your job";
            self->fail(Error(error.errnum(), fmt::format("Failed to attach to {}: {}", self->id_.f58(), why)));
        }
    }

    void fail(const Error& error) {
        if (!failure_) failure_ = std::make_exception_ptr(error);
    }

    void on_main_event(const EventlogEntry& event) {
        outcome_.apply(event);
        if (event.name == "submit") {
            t_submit_ = event.timestamp;
            printer_.set_time_base(t_submit_);
            followers_.spawn("exec log", &Attach::follow_exec, this);
        }
        status_line_.on_event(event);
        if (event.name == "exception") {
            show_exception(event);
            if (outcome_.fatal_exception()) input_.abort();
        } else if (options_.show_events) {
            show("job", event);
        }
    }

    static Task<> follow_exec(Attach* self) {
        try {
            EventWatch watch(self->handle_, self->id_, exec_log);
            while (auto item = co_await watch.next()) self->on_exec_event(item->event());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            // A job that ended before it ran has no such log.
            if (error.errnum() != ENOENT) self->fail(error);
        }
    }

    void on_exec_event(const EventlogEntry& event) {
        if (options_.show_exec) show("exec", event);
        JsonView context = event.context;
        if (event.name == "log") {
            status_line_.clear();
            std::string rank = context.get_or("rank", std::string());
            std::string data = context.get<std::string>("data");
            fmt::print(stderr, "{:.3f}s: {}[{}]: {}: {}{}", since_submit(event),
                       context.get<std::string_view>("component"), rank, context.get<std::string_view>("stream"), data,
                       data.ends_with('\n') ? "" : "\n");
        } else if (event.name == "shell.init") {
            service_ = context.get<std::string>("service");
            leader_ = context.get<std::uint32_t>("leader-rank");
            begin_output();
            if (auto terminal = context["pty"]; terminal && !options_.read_only)
                followers_.spawn("terminal", &Attach::follow_terminal, this,
                                 service_ + "." + terminal.as<std::string>(), context.get_or("capture", 0) != 0);
            else if (!options_.read_only && !options_.stdin_ranks)
                begin_input();
        } else if (event.name == "shell.start") {
            if (!options_.read_only && options_.stdin_ranks) {
                close_other_stdins(context["taskmap"]);
                begin_input();
            }
        } else if (event.name == "complete") {
            begin_output();
        }
    }

    /// \param captured  what the terminal shows is in the log of the output too.
    static Task<> follow_terminal(Attach* self, std::string topic, bool captured) {
        Terminal terminal(self->handle_, self->input_, std::move(topic), self->leader_);
        std::optional<Error> failure;
        try {
            co_await terminal.attach();
            self->printer_.skip_first_task(captured);
            self->status_line_.clear();
            co_await terminal.run();
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            failure.emplace(error.errnum(), error.what());
        }
        if (!failure) co_return;
        fmt::print(stderr, "{}: failed attaching to pty: {}\n", program, failure->what());
        self->begin_input();
    }

    void begin_output() {
        if (std::exchange(output_begun_, true)) return;
        followers_.spawn("output", &Attach::follow_output, this);
    }

    static Task<> follow_output(Attach* self) {
        try {
            EventWatch watch(self->handle_, self->id_, output_log, self->options_.tail ? initial_sentinel : 0);
            OutputTail held(self->options_.tail.value_or(0));
            bool hold = self->options_.tail.has_value();
            while (auto item = co_await watch.next()) {
                if (item->sentinel()) {
                    hold = false;
                    for (const auto& event : held.take()) self->print(event);
                } else if (hold && item->event().name == "data") {
                    held.add(item->event());
                } else {
                    self->print(item->event());
                }
            }
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.errnum() == ENOENT)
                fmt::print(stderr, "{}: No job output found\n", program);
            else
                self->fail(error);
        }
    }

    void print(const EventlogEntry& event) {
        status_line_.clear();
        printer_.print(event);
    }

    Call send_input(std::string_view ranks, std::string_view data, bool eof) {
        auto options = CallOptions().rank(leader_);
        return handle_.call(service_ + ".stdin", IoData::encode("stdin", ranks, data, eof), options);
    }

    void close_other_stdins(JsonView taskmap) {
        auto all = Idset::below(static_cast<Idset::Id>(Taskmap::from_json(taskmap).ntasks()));
        if (!all.includes(*options_.stdin_ranks))
            fmt::print(stderr, "{}: warning: stdin ranks {} are not in this job\n", program,
                       (*options_.stdin_ranks - all).encode());
        *options_.stdin_ranks &= all;
        auto others = all - *options_.stdin_ranks;
        // The shell gets what is sent in order, so nobody needs this answer.
        if (!others.empty()) send_input(others.encode(), {}, true).then([](const Message&) {});
    }

    void begin_input() {
        if (options_.stdin_ranks && options_.stdin_ranks->empty()) return;
        input_.spawn("stdin", &Attach::feed_input, this);
    }

    static Task<> feed_input(Attach* self) {
        StandardInput input(self->handle_.loop());
        std::string ranks = "all";
        if (self->options_.stdin_ranks) ranks = self->options_.stdin_ranks->encode();
        bool sent_data = false;
        try {
            for (bool eof = false; !eof;) {
                auto bytes = co_await input.read();
                eof = bytes.empty();
                sent_data = sent_data || !eof;
                co_await self->send_input(ranks, bytes, eof);
            }
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            // The tasks have closed their ends, or the shell is gone.
            if (error.errnum() == ENOSYS && sent_data)
                fmt::print(stderr, "{}: stdin not accepted by job\n", program);
            else if (error.errnum() != EPIPE && error.errnum() != ENOSYS && error.errnum() != EHOSTUNREACH)
                fmt::print(stderr, "{}: stdin: {}\n", program, error.what());
        }
    }

    Handle& handle_;
    JobId id_;
    AttachOptions options_;
    Scope followers_;
    Scope input_;
    Outcome outcome_;
    OutputPrinter printer_;
    StatusLine status_line_;
    Interrupts interrupts_;
    double t_submit_ = 0;
    std::string service_;
    std::uint32_t leader_ = 0;
    bool output_begun_ = false;
    std::exception_ptr failure_;
};

} // namespace

Task<int> attach(cmd::Context* context, JobId id, AttachOptions options) {
    Attach attach(*context, id, std::move(options));
    co_return co_await attach.run();
}

} // namespace flux::follow
