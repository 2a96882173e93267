// An instance that runs as a job tells the enclosing one how to reach it (broker.md 6.8).
#include "broker/broker.hpp"

#include <flux/job_id.hpp>
#include <flux/job_manager_protocol.hpp>

#include <fmt/core.h>

namespace flux::broker {
namespace {

// A parent that does not answer is as good as none: nobody would find this instance.
constexpr auto answer_limit = std::chrono::seconds(30);

} // namespace

Task<> Broker::tell_enclosing_instance() {
    auto parent = attributes_.get("parent-uri");
    auto job = attributes_.get("jobid");
    if (rank_ != 0 || !parent || !job) co_return;
    auto path = attributes_.get_or("local-uri", "").substr(std::string_view("local://").size());
    auto uri = fmt::format("ssh://{}{}", attributes_.get_or("hostname", ""), path);
    auto payload = Json::object("id", JobId::parse(*job), "memo", Json::object("uri", uri));
    auto options = CallOptions().deadline(answer_limit);
    std::optional<Error> failure;
    try {
        auto handle = Handle::open(loop_, *parent);
        co_await handle->call(job_manager_protocol::memo.topic, std::move(payload), std::move(options));
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        failure.emplace(error.errnum(),
                        fmt::format("cannot tell {} the URI of this instance: {}", *parent, error.what()));
    }
    if (failure) throw Error(*failure);
}

} // namespace flux::broker
