#include "request.hpp"

#include <flux/error.hpp>
#include <flux/sign.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;
using namespace flux::job_ingest;

namespace {

constexpr Credentials owner{100, role_owner | role_local};
constexpr Credentials guest{200, role_user};

Json request(std::uint32_t signer, int urgency = 16, int flags = 0, const char* payload = R"({"version":1})") {
    return Json::object("J", SignedRequest::sign(payload, signer), "urgency", urgency, "flags", flags);
}

int errnum(const Json& request, const Credentials& credentials, const char* text = nullptr) {
    try {
        check_request(request, credentials, Policy{100, false});
    } catch (const Error& error) {
        if (text) CHECK(error.text() == text);
        return error.errnum();
    }
    return 0;
}

} // namespace

TEST_CASE("ingest: requests of the owner", "[job-ingest]") {
    auto payload = request(100, 31, job_flag_waitable | job_flag_debug | job_flag_novalidate);
    auto submission = check_request(payload, owner, Policy{100, false});
    CHECK(submission.userid == 100);
    CHECK(submission.urgency == 31);
    CHECK(submission.jobspec["version"].as<int>() == 1);
    CHECK(errnum(request(100, 16, 1), owner, "invalid job flags") == EPROTO);
    CHECK(errnum(request(100, 16, 16), owner) == EPROTO);
    CHECK(errnum(request(100, 32), owner, "urgency range is [0:31]") == EINVAL);
    CHECK(errnum(request(100, -1), owner) == EINVAL);
    CHECK(errnum(request(101), owner, "signer=101 != requestor=100") == EPERM);
    CHECK(errnum(request(100, 16, 0, "{"), owner) == EINVAL);
    CHECK(errnum(request(100, 16, 0, "[]"), owner, "jobspec is no object") == EINVAL);
    CHECK(errnum(Json::object("J", "x.y.none", "urgency", 16, "flags", 0), owner) == EINVAL);
    CHECK(errnum(Json::object("J", "x.y.none", "urgency", 16), owner) == EPROTO);
}

TEST_CASE("ingest: what guests may not", "[job-ingest]") {
    CHECK(errnum(request(200, 16, job_flag_novalidate), guest) == EPERM);
    CHECK(errnum(request(200, 17), guest) == EINVAL);
    CHECK(errnum(request(200, 16, job_flag_waitable), guest) == EINVAL);
    CHECK(errnum(request(100), guest, "signer=100 != requestor=200") == EPERM);
    CHECK(errnum(request(200), guest) == EPERM);
    Credentials root{0, role_owner};
    CHECK(errnum(request(0), root, "submission of jobs as user root not supported") == EPERM);
    CHECK(check_request(request(0), root, Policy{100, true}).userid == 0);
    CHECK(check_request(request(0), root, Policy{0, false}).userid == 0);
}
