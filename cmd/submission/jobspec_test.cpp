#include "cmd/submission/file_object.hpp"
#include "cmd/submission/jobspec.hpp"
#include "cmd/submission/options.hpp"

#include <flux/job_state.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::submission;

namespace {

constexpr auto table = options::join(common_options, task_options);
constexpr options::Command command{
    .name = "test", .program = "flux-test", .options = table, .family = options::Family::submission};

options::Parsed parse(std::vector<const char*> words) { return options::parse(command, words); }

Json jobspec(std::vector<const char*> words) {
    words.insert(words.begin(), {"--env=-*", "--rlimit=-*", "--cwd=/here"});
    return make_jobspec(parse(words), Surroundings());
}

std::string system_json(std::vector<const char*> words) {
    words.push_back("true");
    return jobspec(words)["attributes"]["system"].dump();
}

} // namespace

TEST_CASE("the plainest job") {
    CHECK(jobspec({"echo", "-n"}).dump() ==
          R"({"resources":[{"type":"slot","count":1,"with":[{"type":"core","count":1}],"label":"task"}],)"
          R"("tasks":[{"command":["echo","-n"],"slot":"task","count":{"per_slot":1}}],)"
          R"("attributes":{"system":{"duration":0,"cwd":"/here"}},"version":1})");
    CHECK_THROWS_AS(jobspec({}), Error);
}

TEST_CASE("options that set attributes") {
    CHECK(system_json({"-t2"}) == R"({"duration":120.0,"cwd":"/here"})");
    CHECK(system_json({"-t2s"}) == R"({"duration":2.0,"cwd":"/here"})");
    CHECK(system_json({"-q", "batch", "-B", "b", "--job-name=n"}) ==
          R"({"duration":0,"cwd":"/here","job":{"name":"n"},"queue":"batch","bank":"b"})");
    CHECK(system_json({"-S", "x=1", "--setattr=.user.y"}).find(R"("x":1)") != std::string::npos);
    CHECK(system_json({"-o", "a.b=[1]", "-ov"}) ==
          R"({"duration":0,"cwd":"/here","shell":{"options":{"a":{"b":[1]},"v":1}}})");
    CHECK(system_json({"--signal=@10", "--taskmap=cyclic:2"}) ==
          R"({"duration":0,"shell":{"options":{"taskmap":{"scheme":"cyclic","value":"2"},)"
          R"("signal":{"signum":10,"timeleft":10.0}}},"cwd":"/here"})");
    CHECK(system_json({"--signal=SIGTERM", "--dependency=afterok:1?x=2"}) ==
          R"({"duration":0,"cwd":"/here","shell":{"options":{"signal":{"signum":15,"timeleft":60.0}}},)"
          R"("dependencies":[{"scheme":"afterok","value":"1","x":2}]})");
    CHECK(system_json({"--requires=a", "--require=host:h"}).find(R"("constraints":{"and":[)") != std::string::npos);
    CHECK(system_json({"--begin-time=2031-04-05 06:30 UTC"}).find(R"("begin-time","value":"1933137000")") !=
          std::string::npos);
}

TEST_CASE("redirected streams") {
    CHECK(system_json({"-l", "--output=o", "--error=none", "--input=i"}) ==
          R"({"duration":0,"cwd":"/here","shell":{"options":{"input":{"stdin":{"type":"file","path":"i"}},)"
          R"("output":{"stdout":{"type":"file","path":"o","label":true}}}}})");
    CHECK(system_json({"--input=0-1"}) == R"({"duration":0,"cwd":"/here"})");
    CHECK(input_ranks(parse({"--input=0-1", "x"})) == Idset::parse("0-1"));
}

TEST_CASE("values that are wrong") {
    for (const char* option : {"-nx", "-t1x", "--signal=NOSUCH", "--requires=(a", "--dependency=x", "--flags=what",
                               "--begin-time=never ever", "--add-file=/no/such"}) {
        INFO(option);
        auto parsed = parse({option, "true"});
        CHECK_THROWS_AS((make_jobspec(parsed, Surroundings()), submit_flags(parsed)), Error);
    }
    CHECK_THROWS_AS(urgency(parse({"--urgency=32"})), options::Exit);
}

TEST_CASE("urgency and flags") {
    CHECK(urgency(parse({})) == urgency_default);
    CHECK(urgency(parse({"--urgency=hold"})) == urgency_hold);
    CHECK(urgency(parse({"--urgency=3"})) == 3);
    CHECK(submit_flags(parse({"--flags=debug,waitable", "--flags=novalidate"})) == job_flags_all);
}

TEST_CASE("files in a jobspec") {
    auto [name, file] = parse_add_file("x:700=a\\nb");
    CHECK(name == "x");
    CHECK(file.dump() == R"({"mode":33216,"data":"a\nb","encoding":"utf-8"})");
    CHECK(file_of_content("\xff", 0600)["encoding"].as<std::string>() == "base64");
    CHECK_THROWS_AS(parse_add_file("a\\nb"), Error);
    CHECK_THROWS_AS(parse_add_file("x:9=a\\nb"), Error);
}

TEST_CASE("copies") {
    auto parsed = parse({"--env=-*", "--rlimit=-*", "--cwd=/here", "true"});
    CHECK(make_jobspec(parsed, Surroundings(), "7")["attributes"]["system"]["environment"].dump() ==
          R"({"FLUX_JOB_CC":"7"})");
    auto changed = parsed.with_values([](std::string_view text) { return std::string(text) + "!"; });
    CHECK(changed.operands() == std::vector<std::string>{"true!"});
    CHECK(changed.get("cwd") == "/here!");
}
