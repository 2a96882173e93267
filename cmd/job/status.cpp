// flux job status: wait for jobs and tell how they ended
#include "cmd/follow/event_watch.hpp"
#include "cmd/job/commands.hpp"
#include "cmd/select/select.hpp"

#include <flux/job_state.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/wait.h>

namespace flux::cmd::job {
namespace {

/// What a job's eventlog tells of its end.
class End {
public:
    End() {}

    void apply(const EventlogEntry& event) {
        if (event.name == "submit") t_submit = event.timestamp;
        if (event.name == "alloc") t_run = event.timestamp;
        if (event.name == "clean") t_cleanup = std::max(t_cleanup, event.timestamp);
        if (event.name == "finish") {
            status = event.context.get<int>("status");
            t_cleanup = event.timestamp;
        }
        if (event.name != "exception") return;
        auto severity = event.context.get<int>("severity");
        // The worst counts, and the last of those.
        if (exception_severity && *exception_severity < severity) return;
        exception_severity = severity;
        exception_type = event.context.get<std::string>("type");
        exception_note = event.context.get_or("note", std::string());
    }

    bool failed_by_exception() const { return exception_severity == 0; }

    JobResult result() const {
        std::optional<std::string_view> fatal;
        if (failed_by_exception()) fatal = exception_type;
        return job_result(status, fatal);
    }

    double t_submit = 0, t_run = 0, t_cleanup = 0;
    std::optional<int> status;
    std::optional<int> exception_severity;
    std::string exception_type, exception_note;
};

Json to_json(JobId id, const End& end) {
    auto object = Json::object("id", id, "t_submit", end.t_submit);
    if (end.t_run > 0) object.set("t_run", end.t_run);
    if (end.t_cleanup > 0) object.set("t_cleanup", end.t_cleanup);
    if (end.status) object.set("waitstatus", *end.status);
    object.set("exception_occurred", end.exception_severity.has_value());
    if (end.exception_severity) {
        object.set("exception_type", end.exception_type);
        object.set("exception_severity", *end.exception_severity);
        object.set("exception_note", end.exception_note);
    }
    object.set("result", job_result_name(end.result()));
    return object;
}

/// One job: tells of it, gives its exit code.
class Report {
public:
    explicit Report(const options::Parsed& parsed)
        : json_(parsed.has("json")),
          verbose_(parsed.count("verbose")),
          exception_code_(parsed.number<int>("exception-exit-code", 1)),
          parsed_(parsed) {}

    int operator()(JobId id, const End& end) const {
        if (json_) fmt::print("{}\n", to_json(id, end).dump());
        if (end.failed_by_exception()) {
            say(1, id, "exception type=" + end.exception_type);
            return exception_code_;
        }
        int status = end.status.value_or(0x100);
        if (WIFSIGNALED(status))
            say(1, id, fmt::format("job shell died by signal {}", WTERMSIG(status)));
        else
            say(status ? 1 : 2, id, fmt::format("exited with exit code {}", WEXITSTATUS(status)));
        return job_exit_code(status);
    }

private:
    void say(unsigned level, JobId id, const std::string& what) const {
        if (verbose_ >= level) fmt::print(stderr, "{}", parsed_.failure_line(id.f58() + ": " + what));
    }

    bool json_;
    unsigned verbose_;
    int exception_code_;
    const options::Parsed& parsed_;
};

Task<int> status(Handle* handle, const options::Parsed* parsed, std::vector<JobId> ids) {
    Report report(*parsed);
    std::vector<follow::EventWatch> watches;
    for (auto id : ids) watches.emplace_back(*handle, id, follow::main_log);
    int code = 0;
    for (std::size_t index = 0; index < ids.size(); ++index) {
        End end;
        try {
            while (auto item = co_await watches[index].next()) end.apply(item->event());
        } catch (const Error& error) {
            if (error.errnum() == ENOENT) throw Error(ENOENT, "No such job " + ids[index].f58());
            throw;
        }
        code = std::max(code, report(ids[index], end));
    }
    co_return code;
}

} // namespace

int run_status(Context& context, const options::Parsed& parsed) {
    return context.run(&status, &context.handle(), &parsed, select::job_ids(parsed, 1));
}

} // namespace flux::cmd::job
