// flux job id, namespace, last: names of jobs
#include "cmd/job/commands.hpp"
#include "cmd/select/select.hpp"

#include <flux/job_manager_protocol.hpp>
#include <flux/shell_protocol.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <iostream>

namespace flux::cmd::job {
namespace {

Task<int> last(Handle* handle, std::string slice) {
    auto answer = co_await handle->call(job_manager_protocol::history_get.topic, Json::object("slice", slice));
    auto ids = answer.json().get<std::vector<JobId>>("jobs");
    if (ids.empty()) throw Error(ENOENT, "job history is empty");
    for (auto id : ids) fmt::print("{}\n", id.f58());
    co_return 0;
}

} // namespace

int run_id(Context&, const options::Parsed& parsed) {
    auto form = parsed.get("to", "dec");
    auto print = [&](std::string_view text) { fmt::print("{}\n", select::job_id(parsed, text).encode(form)); };
    for (const auto& text : parsed.operands()) print(text);
    if (!parsed.operands().empty()) return 0;
    for (std::string line; std::getline(std::cin, line);) print(line);
    return 0;
}

int run_namespace(Context&, const options::Parsed& parsed) {
    for (auto id : select::job_ids(parsed, 1)) fmt::print("{}\n", shell_protocol::guest_namespace(id));
    return 0;
}

int run_last(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    std::string slice = "[:1]";
    if (!parsed.operands().empty()) {
        slice = parsed.operands()[0];
        if (!slice.starts_with('[')) slice = "[:" + slice + "]";
    }
    return context.run(&last, &context.handle(), slice);
}

} // namespace flux::cmd::job
