// flux job submit, stats
#include "cmd/submission/submit.hpp"

#include "cmd/job/commands.hpp"
#include "cmd/submission/jobspec.hpp"

#include <flux/job_id.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>

namespace flux::cmd::job {
namespace {

std::string read_all(std::istream& input) { return std::string(std::istreambuf_iterator<char>(input), {}); }

Task<int> submit(Handle* handle, Json jobspec, int urgency, int flags) {
    auto answer = co_await submission::submit(*handle, jobspec, urgency, flags);
    fmt::print("{}\n", answer.json().get<JobId>("id").f58());
    co_return 0;
}

Task<int> stats(Handle* handle) {
    auto answer = co_await handle->call("job-list.job-stats");
    fmt::print("{}\n", answer.json().dump());
    co_return 0;
}

} // namespace

int run_submit(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.size() > 1) throw parsed.usage_error();
    std::string text;
    std::string name = words.empty() || words[0] == "-" ? "stdin" : words[0];
    if (name == "stdin") {
        text = read_all(std::cin);
    } else {
        std::ifstream file(name);
        if (!file) throw Error(errno, name + ": " + errno_text(errno));
        text = read_all(file);
    }
    return context.run(&submit, &context.handle(), Json::parse(text, name), submission::urgency(parsed),
                       submission::submit_flags(parsed));
}

int run_stats(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&stats, &context.handle());
}

} // namespace flux::cmd::job
