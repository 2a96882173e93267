#include "render.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::shell;

namespace {

class FakeTask final : public ShellTask {
public:
    FakeTask(unsigned rank, unsigned local_id) : rank_(rank), local_id_(local_id) {}
    unsigned rank() const noexcept override { return rank_; }
    unsigned local_id() const noexcept override { return local_id_; }
    State state() const noexcept override { return State::init; }
    int pid() const noexcept override { return -1; }
    int wait_status() const noexcept override { return 0; }
    int exit_code() const noexcept override { return 0; }
    Json info() const override { return Json::object(); }
    std::vector<std::string>& argv() noexcept override { return argv_; }
    Environment& environment() noexcept override { return environment_; }
    void bind(const Idset&) override {}
    void use_file(std::string_view, int) override {}
    void use_terminal(std::string_view) override {}
    void deliver_output(std::string_view, std::string_view) override {}
    void add_channel(std::string_view, OnOutput) override {}
    void on_output(std::string_view, bool, OnOutput) override {}
    void write(std::string_view, std::string_view) override {}
    void close(std::string_view) override {}
    void kill(int) noexcept override {}

private:
    unsigned rank_, local_id_;
    std::vector<std::string> argv_;
    Environment environment_;
};

} // namespace

TEST_CASE("render: tags", "[shell]") {
    auto jobspec = Json::parse(R"({"tasks":[{"command":["/bin/app"]}]})");
    JobInfo job;
    job.id = JobId(1023);
    job.jobspec = JobspecView(jobspec);
    job.size = 2;
    job.ntasks = 4;
    for (unsigned rank = 0; rank < 2; ++rank) {
        RankInfo info;
        info.rank = rank;
        info.broker_rank = 10 + rank;
        info.host = "n" + std::to_string(rank);
        info.taskids = Idset::of_range(2 * rank, 2 * rank + 1);
        info.cores = Idset{0, 1};
        job.ranks.push_back(info);
    }
    int complaints = 0;
    Renderer renderer(
        job, [](std::string_view tag) { return tag == "own" ? std::optional<std::string>("42") : std::nullopt; },
        [&](const std::string&) { ++complaints; });
    FakeTask task(3, 1);
    const char* cases[][2] = {
        {"", ""},
        {"plain { } }}", "plain { } }}"},
        {"{{id.dec}}-{{jobid.hex}}-{{id.f58plain}}", "1023-0x3ff-fJe"},
        {"{{name}}: {{nnodes}} {{size}} {{ntasks}}", "app: 2 4 4"},
        {"{{task.id}}{{task.rank}}{{taskid}} {{task.index}}{{task.localid}}", "333 11"},
        {"{{node.id}} {{node.name}} {{node.broker_rank}} {{node.ntasks}} {{node.taskids}}", "1 n1 11 2 2-3"},
        {"{{node.cores}} {{node.resources.ncores}} {{node.gpus}}", "0-1 2 "},
        {"{{node.resources}}", R"({"ncores":2,"cores":"0-1","gpus":""})"},
        {"{{own}}{{other}}{{node.what}}{{idx}}", "42{{other}}{{node.what}}{{idx}}"},
    };
    for (auto& [text, expected] : cases) CHECK(renderer.render(text, 1, &task) == expected);
    CHECK(complaints == 0);
    CHECK(renderer.render("{{id.roman}} {{id", 1, &task) == "{{id.roman}} {{id");
    CHECK(complaints == 2);
    CHECK(renderer.render("{{node.id}} {{task.id}}", 2, nullptr) == "{{node.id}} {{task.id}}");

    CHECK_FALSE(renderer.varies("out-{{id}}", &task));
    CHECK(renderer.varies("out-{{node.id}}", &task));
    CHECK(renderer.varies("out-{{taskid}}", &task));
    CHECK(renderer.varies("{{tmpdir}}/out", &task));
    job.size = 1;
    CHECK_FALSE(renderer.varies("out-{{taskid}}", &task));
}
