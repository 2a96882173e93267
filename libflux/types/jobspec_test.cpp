#include <flux/jobspec.hpp>
#include <flux/jobspec_builder.hpp>

#include <catch2/catch.hpp>

using flux::Error;
using flux::JobspecBuilder;
using flux::JobspecView;
using flux::Json;
using flux::SlotResources;
using flux::TaskResources;
using flux::validate_jobspec;

namespace {

Json jobspec(const char* resources, const char* count = R"({"per_slot":1})", const char* system = R"({"duration":0})") {
    return Json::object("resources", Json::parse(resources), "tasks",
                        Json::array_of(Json::object("command", Json::array_of("/bin/true"), "slot", "task", "count",
                                                    Json::parse(count))),
                        "attributes", Json::object("system", Json::parse(system)), "version", 1);
}

constexpr const char* slot_core = R"([{"type":"slot","count":4,"label":"task","with":[{"type":"core","count":2}]}])";
constexpr const char* node_slot =
    R"([{"type":"node","count":3,"exclusive":true,"with":[{"type":"slot","count":2,"label":"task",)"
    R"("with":[{"type":"core","count":4},{"type":"gpu","count":1}]}]}])";

std::string resources_of(const TaskResources& want) {
    auto builder = JobspecBuilder::for_tasks({"true"}, want);
    auto json = builder.take();
    validate_jobspec(json);
    return json["resources"].dump() + json["tasks"][0]["count"].dump() +
           JobspecView(json).shell_option("per-resource").dump();
}

TaskResources want(std::int64_t nodes, std::int64_t tasks) {
    TaskResources result;
    result.nodes = nodes;
    result.tasks = tasks;
    return result;
}

} // namespace

TEST_CASE("jobspec: shape numbers", "[jobspec]") {
    auto flat = jobspec(slot_core);
    auto shape = JobspecView(flat).shape();
    CHECK(shape.nnodes == 0);
    CHECK(shape.nslots == 4);
    CHECK(shape.slot_size == 2);
    CHECK(shape.slot_gpus == 0);
    CHECK(shape.ntasks == 4);
    CHECK(shape.ncores() == 8);

    auto nodes = jobspec(node_slot, R"({"total":5})");
    shape = JobspecView(nodes).shape();
    CHECK(shape.nnodes == 3);
    CHECK(shape.nslots == 6);
    CHECK(shape.ntasks == 5);
    CHECK(shape.ngpus() == 6);
    CHECK(shape.exclusive);

    auto racks = jobspec(R"([{"type":"rack","count":2,"with":[{"type":"node","count":3,"with":)"
                         R"([{"type":"slot","count":2,"label":"x","with":[{"type":"core","count":1}]}]}]}])");
    CHECK(JobspecView(racks).shape().nnodes == 6);
    CHECK(JobspecView(racks).shape().nslots == 12);
}

TEST_CASE("jobspec: shapes that cannot be had", "[jobspec]") {
    auto text = [](const Json& json) {
        try {
            JobspecView(json).shape();
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(text(jobspec(R"([{"type":"node","count":1}])")) == "Unable to determine slot count");
    CHECK(text(jobspec(R"([{"type":"slot","count":1,"label":"x"}])")) == "Unable to determine slot size");
    CHECK(text(jobspec(R"([{"type":"core","count":0}])")) == "Invalid count 0 for type 'core'");
    CHECK(text(jobspec(R"([{"type":"slot","count":9223372036854775807,"with":[{"type":"core","count":3}]}])")) ==
          "resource counts are too large");
    CHECK(text(jobspec(slot_core, R"({"per_slot":1})", "{}")) == "jobspec has no duration");
    std::string deep = "[]";
    for (int i = 0; i < 300; ++i) deep = R"([{"type":"x","count":1,"with":)" + deep + "}]";
    CHECK(text(jobspec(deep.c_str())) == "resources are nested too deeply");
}

TEST_CASE("jobspec: accessors", "[jobspec]") {
    auto json =
        jobspec(slot_core, R"({"per_slot":1})",
                R"({"duration":1.5,"cwd":"/tmp","queue":"q","shell":{"options":{"mpi":"none","pty":{"capture":1},
                            "per-resource":{"type":"node","count":2}}},"constraints":{"properties":["a"]}})");
    JobspecView view(json);
    CHECK(view.duration() == 1.5);
    CHECK(view.cwd() == "/tmp");
    CHECK(view.queue() == "q");
    CHECK(view.bank().empty());
    CHECK(view.job_name() == "true");
    CHECK(view.command() == std::vector<std::string>{"/bin/true"});
    CHECK(view.shell_option("pty.capture").as<int>() == 1);
    CHECK(!view.shell_option("verbose"));
    CHECK(view.constraints().dump() == R"({"properties":["a"]})");
    CHECK(view.per_resource()->count == 2);
    CHECK(!view.is_instance());
    auto bad = jobspec(slot_core, "{}", R"({"shell":{"options":{"per-resource":{"type":"node","count":0}}}})");
    CHECK_THROWS_AS(JobspecView(bad).per_resource(), Error);
}

TEST_CASE("jobspec: validation", "[jobspec]") {
    CHECK_NOTHROW(validate_jobspec(jobspec(slot_core)));
    CHECK_NOTHROW(validate_jobspec(jobspec(node_slot)));
    auto text = [](const Json& json) {
        try {
            validate_jobspec(json);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(text(Json::object()) == "Missing key (version)");
    CHECK(text(Json::object("version", 1)) == "Missing key (resources)");
    auto extra = jobspec(slot_core);
    extra.set("foo", 1);
    CHECK(text(extra) == "Extraneous key (foo)");
    auto version = jobspec(slot_core);
    version.set("version", 2);
    CHECK(text(version) == "version must be 1, got 2");
    flux::JobspecRules any;
    any.version.reset();
    CHECK_NOTHROW(validate_jobspec(version, any));
    CHECK(text(jobspec(slot_core, R"({"per_slot":1})", R"({"duration":0,"constraints":{"foo":[]}})")) ==
          "unknown constraint operator 'foo'");
    CHECK(text(jobspec("[]")) == "resources must be a non-empty list");
    CHECK(text(jobspec(R"([{"type":"slot","count":0,"label":"x","with":[{"type":"core","count":1}]}])")) ==
          "slot count must be > 0");
    CHECK(text(jobspec(R"([{"type":"slot","count":1,"with":[{"type":"core","count":1}]}])")) ==
          "slot must have a label");
    CHECK(text(jobspec(R"([{"type":"slot","count":"1-2","label":"x","with":[{"type":"core","count":1}]}])")) ==
          "count of 'slot' must be an integer");
    CHECK(text(jobspec(slot_core, R"({"per_slot":1,"total":1})")) == "task count must have exactly one key");
    CHECK(text(jobspec(slot_core, R"({"per_slot":2})")) == "per_slot must be 1");
    CHECK(text(jobspec(slot_core, R"({"per_slot":1})", "{}")) == "Missing key (duration)");
    CHECK(text(jobspec(slot_core, R"({"per_slot":1})", R"({"duration":"1"})")) == "duration must be a number");
    CHECK(text(jobspec(slot_core, R"({"per_slot":1})", R"({"duration":-1})")) == "duration must be >= 0");
    CHECK(text(jobspec(slot_core, R"({"per_slot":1})", R"({"duration":0,"dependencies":[{"scheme":"x"}]})")) ==
          "dependency value must be a string");
}

TEST_CASE("jobspec: what the submission options build", "[jobspec]") {
    const std::string one_core = R"("with":[{"type":"core","count":1}],"label":"task"})";
    CHECK(resources_of({}) == R"([{"type":"slot","count":1,)" + one_core + R"(]{"per_slot":1}null)");
    CHECK(resources_of(want(2, 2)) ==
          R"([{"type":"node","count":2,"with":[{"type":"slot","count":1,)" + one_core + R"(]}]{"per_slot":1}null)");
    CHECK(resources_of(want(2, 0)) ==
          R"([{"type":"node","count":2,"exclusive":true,"with":[{"type":"slot","count":1,)" + one_core +
              R"(]}]{"per_slot":1}null)");
    CHECK(resources_of(want(2, 3)) ==
          R"([{"type":"node","count":2,"with":[{"type":"slot","count":2,)" + one_core + R"(]}]{"total":3}null)");
    TaskResources by_core;
    by_core.cores = 4;
    by_core.tasks_per_core = 2;
    CHECK(resources_of(by_core) ==
          R"([{"type":"slot","count":4,)" + one_core + R"(]{"per_slot":1}{"type":"core","count":2})");
    by_core.tasks_per_core = 0;
    by_core.nodes = 2;
    CHECK(resources_of(by_core) ==
          R"([{"type":"node","count":2,"with":[{"type":"slot","count":1,"with":[{"type":"core","count":2}],)"
          R"("label":"task"}]}]{"per_slot":1}null)");
    TaskResources by_node;
    by_node.nodes = 2;
    by_node.tasks_per_node = 3;
    by_node.gpus_per_node = 1;
    CHECK(resources_of(by_node) ==
          R"([{"type":"node","count":2,"exclusive":true,"with":[{"type":"slot","count":1,"with":[{"type":"core",)"
          R"("count":1},{"type":"gpu","count":1}],"label":"task"}]}]{"per_slot":1}{"type":"node","count":3})");

    CHECK_THROWS_AS(resources_of(want(3, 2)), Error);
    by_node.tasks = 1;
    CHECK_THROWS_AS(resources_of(by_node), Error);
    by_core.cores = 3;
    CHECK_THROWS_AS(resources_of(by_core), Error);
    TaskResources exclusive;
    exclusive.exclusive = true;
    CHECK_THROWS_AS(resources_of(exclusive), Error);
    CHECK_THROWS_AS(JobspecBuilder::for_tasks({}, {}), Error);
    CHECK_THROWS_AS(JobspecBuilder::for_instance({"flux", "broker"}, {}), Error);
}

TEST_CASE("jobspec: attributes of a built jobspec", "[jobspec]") {
    SlotResources slots;
    slots.nodes = 2;
    auto builder = JobspecBuilder::for_instance({"flux", "broker", "{{tmpdir}}/script"}, slots);
    builder.set_environment("A", "1");
    builder.set_environment("B", std::nullopt);
    builder.set_cwd("/home/user");
    builder.set_job_name("b.sh");
    builder.set_duration(60);
    builder.set_shell_option("output.stdout", Json::object("type", "file", "path", "out.txt"));
    builder.set_attribute(flux::attribute_path("x.y"), 7);
    builder.add_dependency(flux::parse_dependency("afterok:f1?n=2&m=a&m=b"));
    builder.add_file("script", Json::object("mode", 33216, "data", "#!/bin/sh\n", "encoding", "utf-8"));
    auto view = builder.view();
    CHECK(view.is_instance());
    CHECK(view.shape().exclusive);
    CHECK(view.shape().nslots == 2);
    CHECK(view.system("").raw() == nullptr);
    CHECK(view.json()["attributes"]["system"].dump() ==
          R"({"duration":60.0,"shell":{"options":{"per-resource":{"type":"node"},"mpi":"none","exit-timeout":"none",)"
          R"("output":{"stdout":{"type":"file","path":"out.txt"}}}},"environment":{"A":"1","B":null},)"
          R"("cwd":"/home/user","job":{"name":"b.sh"},"x":{"y":7},)"
          R"("dependencies":[{"scheme":"afterok","value":"f1","n":2,"m":["a","b"]}],)"
          R"("files":{"script":{"mode":33216,"data":"#!/bin/sh\n","encoding":"utf-8"}}})");
    CHECK_NOTHROW(validate_jobspec(view.json()));
}

TEST_CASE("jobspec: option values", "[jobspec]") {
    auto value = [](std::string_view text) {
        auto [key, json] = flux::parse_setting(text);
        return key + " " + json.dump();
    };
    CHECK(value("verbose") == "verbose 1");
    CHECK(value("a.b=2") == "a.b 2");
    CHECK(value("a={\"x\":[1]}") == "a {\"x\":[1]}");
    CHECK(value("mpi=none") == "mpi \"none\"");
    CHECK(value("e=") == "e \"\"");
    CHECK_THROWS_AS(value("=1"), Error);
    CHECK(flux::attribute_path("a.b") == "system.a.b");
    CHECK(flux::attribute_path("system.a") == "system.a");
    CHECK(flux::attribute_path("user.a") == "user.a");
    CHECK(flux::attribute_path("attributes.user.a") == "user.a");
    CHECK(flux::attribute_path(".a") == "a");
    CHECK(flux::parse_dependency("begin-time:1700000000.5").dump() ==
          R"({"scheme":"begin-time","value":"1700000000.5"})");
    CHECK(flux::parse_dependency("singleton").dump() == R"({"scheme":"singleton","value":""})");
    CHECK_THROWS_AS(flux::parse_dependency("123"), Error);
    CHECK_THROWS_AS(flux::parse_dependency("afterok:1?x"), Error);
}
