#include <flux/job_state.hpp>

#include <catch2/catch.hpp>

using namespace flux;

TEST_CASE("job states and results have names", "[types]") {
    CHECK(job_state_name(JobState::new_) == "NEW");
    CHECK(job_state_letter(JobState::cleanup) == "C");
    CHECK(job_state_name(JobState{12}) == "(unknown)");
    CHECK(job_state_letter(JobState::none) == "?");
    CHECK(job_state_name(JobState{job_states_pending}) == "(unknown)");
    for (auto text : {"RUN", "run", "R", "r"}) CHECK(parse_job_state(text) == 16);
    CHECK(parse_job_state("pending") == job_states_pending);
    CHECK(parse_job_state("A") == job_states_active);
    CHECK_FALSE(parse_job_state("Run"));
    CHECK_FALSE(parse_job_state(""));
    CHECK(job_result_name(JobResult::canceled) == "CANCELED");
    CHECK(job_result_letter(JobResult::timeout) == "TO");
    CHECK(parse_job_result("cd") == JobResult::completed);
    CHECK_FALSE(parse_job_result("x"));
}

TEST_CASE("the result of a job follows from its end", "[types]") {
    CHECK(job_result(0, {}) == JobResult::completed);
    CHECK(job_result(256, {}) == JobResult::failed);
    CHECK(job_result({}, {}) == JobResult::failed);
    CHECK(job_result({}, "cancel") == JobResult::canceled);
    CHECK(job_result(36608, "timeout") == JobResult::timeout);
    CHECK(job_result(0, "exec") == JobResult::failed);
}

TEST_CASE("wait statuses are told in words", "[types]") {
    CHECK(describe_job_failure(0).empty());
    CHECK(describe_job_failure(256) == "task(s) exited with exit code 1");
    CHECK(describe_job_failure((128 + 15) << 8) == "task(s) Terminated");
    CHECK(describe_job_failure(9) == "job shell Killed");
    CHECK(job_exit_code(256) == 1);
    CHECK(job_exit_code(9) == 137);
}
