#include "request.hpp"

#include <flux/sign.hpp>

#include <fmt/format.h>

#include <cerrno>

namespace flux::job_ingest {

Submission check_request(JsonView request, const Credentials& credentials, const Policy& policy) {
    Submission submission{request.get<std::string_view>("J"), credentials.userid, request.get<int>("urgency"),
                          request.get<int>("flags"), Json()};
    bool guest = !credentials.owner();
    if (submission.flags & ~job_flags_all) throw Error(EPROTO, "invalid job flags");
    if (guest && (submission.flags & job_flag_novalidate))
        throw Error(EPERM, "only the instance owner can submit with the novalidate flag");
    if (submission.urgency < urgency_hold || submission.urgency > urgency_expedite)
        throw Error(EINVAL, fmt::format("urgency range is [{}:{}]", urgency_hold, urgency_expedite));
    if (guest && submission.urgency > urgency_default)
        throw Error(EINVAL, fmt::format("only the instance owner can submit with urgency >{}", urgency_default));
    if (guest && (submission.flags & job_flag_waitable))
        throw Error(EINVAL, "only the instance owner can submit with the waitable flag");
    if (credentials.userid == 0 && policy.owner != 0 && !policy.allow_root)
        throw Error(EPERM, "submission of jobs as user root not supported");
    auto request_of = SignedRequest::unwrap(submission.J);
    if (request_of.userid != credentials.userid)
        throw Error(EPERM, fmt::format("signer={} != requestor={}", request_of.userid, credentials.userid));
    // Only mechanism `none` can be unwrapped, by which nobody but the owner can vouch for himself.
    if (guest) throw Error(EPERM, "only the instance owner can use the 'none' signing mechanism");
    try {
        submission.jobspec = Json::parse(request_of.payload, "jobspec");
    } catch (const Error& error) {
        throw Error(EINVAL, error.text());
    }
    if (!submission.jobspec.is_object()) throw Error(EINVAL, "jobspec is no object");
    return submission;
}

} // namespace flux::job_ingest
