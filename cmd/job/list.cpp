// flux job list, list-inactive, list-ids: jobs as JSON, one a line
#include "cmd/job/commands.hpp"
#include "cmd/joblist/query.hpp"
#include "cmd/select/select.hpp"

#include <flux/job_state.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <unistd.h>

namespace flux::cmd::job {
namespace {

void refuse_terminal() {
    if (::isatty(STDOUT_FILENO)) throw Error(EINVAL, "This is not the command you are looking for. Try flux-jobs(1).");
}

Task<int> print_list(Handle* handle, Json payload) {
    auto stream = handle->stream("job-list.list", std::move(payload));
    while (auto answer = co_await stream.next())
        for (auto job : answer->json()["jobs"].elements()) fmt::print("{}\n", job.dump());
    co_return 0;
}

Task<int> print_ids(Handle* handle, std::vector<JobId> ids, int state) {
    std::vector<Call> calls;
    for (auto id : ids) {
        auto payload = Json::object("id", id, "attrs", Json::array_of("all"));
        if (state) payload.set("state", state);
        calls.push_back(handle->call("job-list.list-id", std::move(payload)));
    }
    for (auto& call : calls) {
        auto answer = co_await call;
        fmt::print("{}\n", answer.json()["job"].dump());
    }
    co_return 0;
}

joblist::Query query_of(const options::Parsed& parsed) {
    joblist::Query query;
    query.attributes = {"all"};
    query.max_entries = parsed.number<std::size_t>("count", 0);
    return query;
}

} // namespace

int run_list(Context& context, const options::Parsed& parsed) {
    refuse_terminal();
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto query = query_of(parsed);
    query.filter.states = select::state_mask(parsed.list("states"));
    if (!query.filter.states) query.filter.states = job_states_pending | job_states_running;
    if (parsed.has("a")) query.filter.states |= static_cast<int>(JobState::inactive);
    query.userid = parsed.has("A") ? select::all_users : select::user_option(parsed);
    auto payload = query.payload();
    payload.erase("since");
    return context.run(&print_list, &context.handle(), std::move(payload));
}

int run_list_inactive(Context& context, const options::Parsed& parsed) {
    refuse_terminal();
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto query = query_of(parsed);
    query.since = parsed.number<double>("since", 0);
    query.userid = select::all_users;
    query.filter.states = static_cast<int>(JobState::inactive);
    return context.run(&print_list, &context.handle(), query.payload());
}

int run_list_ids(Context& context, const options::Parsed& parsed) {
    refuse_terminal();
    int state = select::state_mask({std::string(parsed.get("wait-state", "depend"))});
    return context.run(&print_ids, &context.handle(), select::job_ids(parsed, 1), state);
}

} // namespace flux::cmd::job
