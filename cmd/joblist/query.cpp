#include "cmd/joblist/query.hpp"

#include "cmd/select/select.hpp"

#include <flux/hostlist.hpp>
#include <flux/idset.hpp>
#include <flux/job_state.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::joblist {

void Filter::add(const std::vector<std::string>& names) {
    for (const auto& name : names) {
        if (auto mask = parse_job_state(name))
            states |= *mask;
        else if (auto result = parse_job_result(name))
            results |= static_cast<int>(*result);
        else
            throw Error(EINVAL, "Invalid filter specified: " + name);
    }
}

Json Query::payload() const {
    auto all = Json::array();
    if (!include.empty()) {
        const char* what = Idset::try_parse(include) ? "ranks" : "hostlist";
        if (!Idset::try_parse(include)) Hostlist::parse(include);
        all.append(Json::object(what, Json::array_of(include)));
    }
    if (userid != select::all_users) all.append(Json::object("userid", Json::array_of(userid)));
    if (!name.empty()) all.append(Json::object("name", Json::array_of(name)));
    if (!queues.empty()) all.append(Json::object("queue", queues));
    auto states = Json::object("states", Json::array_of(filter.states));
    auto results = Json::object("results", Json::array_of(filter.results));
    if (filter.states && filter.results)
        all.append(Json::object("or", Json::array_of(std::move(states), std::move(results))));
    else if (filter.results)
        all.append(std::move(results));
    else
        all.append(std::move(states));
    return Json::object("max_entries", max_entries, "attrs", attributes, "since", since, "constraint",
                        Json::object("and", std::move(all)));
}

Task<std::vector<Json>> list(Handle* handle, const Query* query) {
    std::vector<Json> jobs;
    auto stream = handle->stream("job-list.list", query->payload());
    while (auto answer = co_await stream.next())
        for (auto job : answer->json()["jobs"].elements()) jobs.push_back(job.copy());
    co_return std::move(jobs);
}

Task<std::vector<Json>> list_ids(Handle* handle, std::vector<JobId> ids, std::vector<std::string> attributes) {
    std::vector<Call> calls;
    for (auto id : ids) calls.push_back(handle->call("job-list.list-id", Json::object("id", id, "attrs", attributes)));
    std::vector<Json> jobs;
    for (std::size_t index = 0; index < calls.size(); ++index) {
        try {
            auto answer = co_await calls[index];
            jobs.push_back(answer.json().get<JsonView>("job").copy());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
            fmt::print(stderr, "JobID {} unknown\n", ids[index].f58());
        }
    }
    co_return std::move(jobs);
}

} // namespace flux::joblist
