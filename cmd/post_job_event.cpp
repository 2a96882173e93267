// flux post-job-event: add an event to the log of a job (cli.md 6.36).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/select/select.hpp"

#include <flux/error.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/jobspec_builder.hpp>

#include <cerrno>

namespace flux::cmd {
namespace {

Task<int> post(Handle* handle, Json request, std::string id) {
    try {
        co_await handle->call(job_manager_protocol::post_event.topic, std::move(request));
    } catch (const Error& error) {
        if (error.errnum() == ENOENT) throw Error(ENOENT, "No such job " + id);
        throw;
    }
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.size() < 2) throw parsed.usage_error("the following arguments are required: JOBID, NAME");
    auto request = Json::object("id", select::job_id(parsed, words[0]), "name", words[1]);
    auto details = Json::object();
    for (std::size_t index = 2; index < words.size(); ++index) {
        if (words[index].find('=') == std::string::npos)
            throw Error(EINVAL, "'" + words[index] + "' is not of the form KEY=VALUE");
        auto [key, value] = parse_setting(words[index]);
        details.set(key, std::move(value));
    }
    if (words.size() > 2) request.set("context", std::move(details));
    return context.run(&post, &context.handle(), std::move(request), words[0]);
}

} // namespace

extern const options::Command cmd_post_job_event;
const options::Command cmd_post_job_event{.name = "post-job-event",
                                          .program = "flux-post-job-event",
                                          .synopsis = "JOBID NAME [KEY=VALUE...]",
                                          .help = "Post an event to the eventlog of a job",
                                          .family = options::Family::listing,
                                          .run = &run};

} // namespace flux::cmd
