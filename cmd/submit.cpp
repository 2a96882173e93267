// flux submit: queue one job or many copies of it (cli.md 6.1).
#include "cmd/submission/submit.hpp"

#include "cmd/context.hpp"
#include "cmd/follow/monitor.hpp"
#include "cmd/submission/jobspec.hpp"
#include "cmd/submission/options.hpp"
#include "cmd/submission/substitute.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <map>

namespace flux::cmd {
namespace {

/// Requests under way at a time: enough for ingest to gather, few enough to hold in memory.
constexpr std::size_t window = 1024;

/// Files opened for output by name; nothing is a name for the terminal.
class LogFiles {
public:
    LogFiles() = default;
    ~LogFiles() {
        for (auto& [name, file] : files_) std::fclose(file);
    }
    LogFiles(const LogFiles&) = delete;
    LogFiles& operator=(const LogFiles&) = delete;

    FILE* open(std::optional<std::string_view> name, FILE* terminal) {
        if (!name) return terminal;
        auto& file = files_[std::string(*name)];
        if (!file) file = std::fopen(std::string(*name).c_str(), "w");
        if (file) return file;
        int errnum = errno;
        files_.erase(std::string(*name));
        throw Error(errnum, errno_text(errnum) + ": '" + std::string(*name) + "'");
    }

private:
    std::map<std::string, FILE*> files_;
};

class Submitter {
public:
    Submitter(Context& context, const options::Parsed& parsed)
        : handle_(context.handle()),
          parsed_(parsed),
          monitors_(context.scope()),
          urgency_(submission::urgency(parsed)),
          flags_(submission::submit_flags(parsed)),
          follow_(parsed.has("wait") || parsed.has("watch") || parsed.has("wait-event")) {
        monitor_.output = parsed.has("watch");
        monitor_.label_io = parsed.has("label-io");
        monitor_.verbose = parsed.count("verbose");
        monitor_.wait_event = parsed.get("wait-event", monitor_.wait_event);
    }

    /// Submit a job for each id, or one without.
    Task<int> run() {
        const bool with_cc = parsed_.has("cc");
        auto ids = parsed_.find(with_cc ? "cc" : "bcc");
        if (!ids) {
            submit(parsed_, "", std::nullopt);
        } else {
            const auto copies = Idset::parse(*ids);
            for (auto copy : copies) {
                while (under_way_ >= window) co_await answered_.wait();
                auto cc = std::to_string(copy);
                auto tags = [&](std::string_view tag) { return tag == "cc" ? std::optional(cc) : std::nullopt; };
                auto change = [&](std::string_view text) { return submission::substitute(text, tags); };
                std::optional<std::string_view> variable;
                if (with_cc) variable = cc;
                submit(parsed_.with_values(change), "cc=" + cc + ": ", variable);
            }
        }
        while (under_way_ > 0) co_await answered_.wait();
        std::fflush(stdout);
        co_await monitors_.drained();
        co_return exit_code_;
    }

private:
    void submit(const options::Parsed& parsed, const std::string& label, std::optional<std::string_view> cc) {
        auto jobspec = submission::make_jobspec(parsed, surroundings_, cc);
        auto monitor = monitor_;
        monitor.out = files_.open(parsed.find("log"), stdout);
        monitor.err = files_.open(parsed.find("log-stderr"), stderr);
        ++under_way_;
        submission::submit(handle_, jobspec, urgency_, flags_).then([this, label, monitor](const Message& answer) {
            --under_way_;
            on_answer(answer, label, monitor);
            answered_.notify_all();
        });
    }

    void on_answer(const Message& answer, const std::string& label, const follow::MonitorOptions& monitor) {
        if (answer.errnum()) {
            auto text = fmt::format("{}[Errno {}] {}", label, answer.errnum(), answer.error_text());
            fmt::print(stderr, "{}", parsed_.failure_line(text));
            exit_code_ = std::max(exit_code_, 1);
            return;
        }
        auto id = answer.json().get<JobId>("id");
        if (!parsed_.has("quiet")) fmt::print(monitor.out, "{}\n", id.f58());
        if (!follow_) return;
        if (monitor_.output) std::fflush(monitor.out);
        monitors_.spawn("job", &Submitter::follow_job, this, id, monitor);
    }

    static Task<> follow_job(Submitter* self, JobId id, follow::MonitorOptions options) {
        try {
            int code = co_await follow::monitor(&self->handle_, &self->monitors_, id, options);
            self->exit_code_ = std::max(self->exit_code_, code);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            fmt::print(stderr, "{}", self->parsed_.failure_line(error.what()));
            self->exit_code_ = std::max(self->exit_code_, 1);
        }
    }

    Handle& handle_;
    const options::Parsed& parsed_;
    submission::Surroundings surroundings_;
    LogFiles files_;
    Scope monitors_;
    follow::MonitorOptions monitor_;
    int urgency_;
    int flags_;
    bool follow_;
    std::size_t under_way_ = 0;
    Condition answered_;
    int exit_code_ = 0;
};

Task<int> submit_all(Context* context, const options::Parsed* parsed) {
    Submitter submitter(*context, *parsed);
    co_return co_await submitter.run();
}

int run(Context& context, const options::Parsed& parsed) {
    if (parsed.has("cc") && parsed.has("bcc")) throw Error(EINVAL, "specify only one of --cc or --bcc");
    if (submission::input_ranks(parsed)) throw Error(EINVAL, "Per-rank --input is not supported by submit");
    if (parsed.has("dry-run")) {
        fmt::print("{}\n", submission::make_jobspec(parsed, submission::Surroundings()).dump());
        return 0;
    }
    return context.run(&submit_all, &context, &parsed);
}

constexpr auto submit_options =
    options::join(submission::common_options, submission::task_options, submission::bulk_options);
static_assert(options::consistent(submit_options));

} // namespace

extern const options::Command cmd_submit;
const options::Command cmd_submit{.name = "submit",
                                  .program = "flux-submit",
                                  .synopsis = "[OPTIONS...] COMMAND [ARGS...]",
                                  .help = "Submit a job to a Flux instance",
                                  .options = submit_options,
                                  .family = options::Family::submission,
                                  .run = &run};

} // namespace flux::cmd
