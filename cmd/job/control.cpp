// flux job raise, raiseall, kill, killall, urgency, memo, purge, wait: what changes jobs
#include "cmd/job/commands.hpp"
#include "cmd/select/select.hpp"

#include <flux/duration.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/job_state.hpp>
#include <flux/jobspec_builder.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <iterator>

namespace flux::cmd::job {
namespace {

namespace jobs = job_manager_protocol;

/// One request for each of several jobs, all under way at the same time.
Task<int> call_each(Handle* handle, const options::Parsed* parsed, std::vector<JobId> ids, std::string_view topic,
                    Json payload, std::string what) {
    std::vector<Call> calls;
    for (auto id : ids) {
        auto request = payload.copy();
        request.set("id", id);
        calls.push_back(handle->call(topic, std::move(request)));
    }
    int code = 0;
    for (std::size_t index = 0; index < ids.size(); ++index) {
        try {
            co_await calls[index];
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            fmt::print(stderr, "{}",
                       parsed->failure_line(fmt::format("{} {}: {}", what, ids[index].f58(), error.what())));
            code = 1;
        }
    }
    co_return code;
}

std::string join(auto first, auto last) {
    std::string text;
    for (; first != last; ++first) text += text.empty() ? *first : " " + *first;
    return text;
}

Task<int> report_matches(Handle* handle, const options::Parsed* parsed, std::string_view topic, Json payload,
                         const char* done) {
    const bool dry_run = payload.get<bool>("dry_run");
    auto answer = co_await handle->call(topic, std::move(payload));
    auto count = answer.json().get<int>("count"), errors = answer.json().get<int>("errors");
    if (dry_run)
        fmt::print(stderr, "{}", parsed->failure_line(fmt::format("Command matched {} jobs (-f to confirm)", count)));
    else
        fmt::print(stderr, "{}", parsed->failure_line(fmt::format("{} {} jobs ({} errors)", done, count, errors)));
    co_return 0;
}

Task<int> set_urgency(Handle* handle, JobId id, int urgency, bool verbose) {
    auto answer = co_await handle->call(jobs::urgency.topic, Json::object("id", id, "urgency", urgency));
    if (!verbose) co_return 0;
    auto old = answer.json().get<int>("old_urgency");
    if (old == urgency_hold)
        fmt::print(stderr, "old job urgency: job held\n");
    else if (old == urgency_expedite)
        fmt::print(stderr, "old job urgency: job expedited\n");
    else
        fmt::print(stderr, "old job urgency: {}\n", old);
    co_return 0;
}

Task<int> call(Handle* handle, std::string_view topic, Json payload, std::string what) {
    try {
        co_await handle->call(topic, std::move(payload));
    } catch (const Error& error) {
        throw error.while_doing(what);
    }
    co_return 0;
}

constexpr int purge_batch = 50;

Task<int> purge(Handle* handle, const options::Parsed* parsed) {
    const bool force = parsed->has("force");
    auto leader = CallOptions().rank(0);
    double age = -1;
    if (auto text = parsed->find("age-limit")) age = parse_duration(*text);
    auto payload = Json::object("age_limit", age, "num_limit", parsed->number<int>("num-limit", -1), "batch",
                                parsed->number<int>("batch", purge_batch), "force", force);
    const auto batch = payload.get<int>("batch");
    int total = 0;
    for (;;) {
        auto answer = co_await handle->call(jobs::purge.topic, payload.copy(), leader);
        auto count = answer.json().get<int>("count");
        total += count;
        if (!force || count < batch) break;
    }
    auto stats = co_await handle->call(jobs::stats_get.topic, leader);
    auto inactive = stats.json().get<int>("inactive_jobs");
    if (force)
        fmt::print("purged {} inactive jobs, {} remaining\n", total, inactive);
    else
        fmt::print("use --force to purge {} of {} inactive jobs\n", total, inactive);
    co_return 0;
}

Task<int> purge_ids(Handle* handle, std::vector<JobId> ids, bool force) {
    auto leader = CallOptions().rank(0);
    std::vector<Call> calls;
    for (auto id : ids)
        calls.push_back(handle->call(jobs::purge_id.topic, Json::object("id", id, "force", force ? 1 : 0), leader));
    int total = 0;
    for (std::size_t index = 0; index < ids.size(); ++index) {
        try {
            auto answer = co_await calls[index];
            total += answer.json().get<int>("count");
        } catch (const Error& error) {
            throw error.while_doing(ids[index].f58());
        }
    }
    if (force)
        fmt::print("purged {} inactive jobs\n", total);
    else
        fmt::print("use --force to purge {} inactive jobs\n", total);
    co_return 0;
}

/// Print how a job ended that was waited for. \returns whether it succeeded
bool report_end(JsonView end, const options::Parsed& parsed) {
    auto id = end.get<JobId>("id").f58();
    if (!end.get<bool>("success")) {
        fmt::print(stderr, "{}", parsed.failure_line(id + ": " + end.get<std::string>("errstr")));
        return false;
    }
    if (parsed.has("verbose")) fmt::print(stderr, "{}", parsed.failure_line(id + ": job completed successfully"));
    return true;
}

constexpr int nothing_to_wait_for = 2;

Task<int> wait_for(Handle* handle, const options::Parsed* parsed, JobId id) {
    const bool all = parsed->has("all");
    bool success = true;
    try {
        do {
            auto answer = co_await handle->call(jobs::wait.topic, Json::object("id", id));
            if (!all && id == JobId::any()) fmt::print("{}\n", answer.json().get<JobId>("id").f58());
            if (!report_end(answer.json(), *parsed)) success = false;
        } while (all);
    } catch (const Error& error) {
        if (error.errnum() != ECHILD) throw;
        if (!all) {
            fmt::print(stderr, "{}", parsed->failure_line("there are no more waitable jobs"));
            co_return nothing_to_wait_for;
        }
    }
    co_return success ? 0 : 1;
}

} // namespace

int run_raise(Context& context, const options::Parsed& parsed) {
    std::vector<JobId> ids;
    const auto& words = parsed.operands();
    auto word = words.begin();
    for (; word != words.end() && *word != "--"; ++word) {
        auto id = JobId::try_parse(*word);
        if (!id) break;
        ids.push_back(*id);
    }
    if (ids.empty()) throw parsed.usage_error();
    if (word != words.end() && *word == "--") ++word;
    auto note = join(word, words.end());
    if (auto given = parsed.find("message")) {
        if (!note.empty()) throw Error(EINVAL, "do not set note on the command line and with --message");
        note = *given;
    }
    auto payload =
        Json::object("id", 0, "type", parsed.get("type", "cancel"), "severity", parsed.number<int>("severity", 0));
    if (!note.empty()) payload.set("note", note);
    return context.run(&call_each, &context.handle(), &parsed, std::move(ids), jobs::raise.topic, std::move(payload),
                       std::string("raise"));
}

int run_raiseall(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.empty()) throw parsed.usage_error();
    int states = select::state_mask(parsed.list("states"));
    if (!parsed.has("states")) states = job_states_active;
    auto payload = Json::object("dry_run", !parsed.has("force"), "userid", select::user_option(parsed), "states",
                                states, "severity", parsed.number<int>("severity", 7), "type", words[0]);
    if (words.size() > 1) payload.set("note", join(words.begin() + 1, words.end()));
    return context.run(&report_matches, &context.handle(), &parsed, jobs::raiseall.topic, std::move(payload),
                       "Raised exception on");
}

int run_kill(Context& context, const options::Parsed& parsed) {
    int signum = select::signal_number(parsed.get("signal", "TERM"));
    return context.run(&call_each, &context.handle(), &parsed, select::job_ids(parsed, 1), jobs::kill.topic,
                       Json::object("id", 0, "signum", signum), std::string("kill"));
}

int run_killall(Context& context, const options::Parsed& parsed) {
    int signum = select::signal_number(parsed.get("signal", "TERM"));
    auto payload =
        Json::object("dry_run", !parsed.has("force"), "userid", select::user_option(parsed), "signum", signum);
    return context.run(&report_matches, &context.handle(), &parsed, jobs::killall.topic, std::move(payload), "Killed");
}

int run_urgency(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.size() != 2) throw parsed.usage_error();
    auto id = select::job_id(parsed, words[0]);
    std::optional<int> urgency = parse_integer<int>(words[1]);
    if (words[1] == "hold") urgency = urgency_hold;
    if (words[1] == "expedite") urgency = urgency_expedite;
    if (words[1] == "default") urgency = urgency_default;
    if (!urgency) throw Error(EINVAL, "invalid urgency '" + words[1] + "'");
    return context.run(&set_urgency, &context.handle(), id, *urgency, parsed.has("verbose"));
}

int run_memo(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.size() < 2) throw parsed.usage_error();
    auto id = select::job_id(parsed, words[0]);
    auto memo = Json::object();
    for (auto word = words.begin() + 1; word != words.end(); ++word) {
        auto equals = word->find('=');
        if (equals == 0 || equals == std::string::npos)
            throw Error(EINVAL, "'" + *word + "' is not of the form key=value");
        auto text = *word;
        if (text.substr(equals + 1) == "-") {
            std::string input(std::istreambuf_iterator<char>(std::cin), {});
            if (input.ends_with('\n')) input.pop_back();
            text = text.substr(0, equals + 1) + input;
        }
        auto [key, value] = parse_setting(text);
        memo.set_path(key, std::move(value));
    }
    auto payload = Json::object("id", id, "volatile", parsed.has("volatile"), "memo", std::move(memo));
    return context.run(&call, &context.handle(), jobs::memo.topic, std::move(payload), std::string("memo"));
}

int run_purge(Context& context, const options::Parsed& parsed) {
    auto ids = select::job_ids(parsed);
    if (!ids.empty()) return context.run(&purge_ids, &context.handle(), std::move(ids), parsed.has("force"));
    return context.run(&purge, &context.handle(), &parsed);
}

int run_wait(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    if (parsed.has("all") && !parsed.operands().empty()) throw Error(EINVAL, "jobid not supported with --all");
    auto id = JobId::any();
    if (!parsed.operands().empty()) id = select::job_id(parsed, parsed.operands()[0]);
    return context.run(&wait_for, &context.handle(), &parsed, id);
}

} // namespace flux::cmd::job
