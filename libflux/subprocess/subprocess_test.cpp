#include <flux/error.hpp>
#include <flux/subprocess.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/wait.h>

using namespace flux;

namespace {

Command shell_command(const std::string& script) {
    Command command({"/bin/sh", "-c", script});
    command.env = current_environment();
    return command;
}

struct Run {
    Loop loop;
    std::map<std::string, std::string> output;
    std::map<std::string, int> ends;
    std::size_t consumed = 0;
    std::vector<int> stops;
    std::optional<int> status;
    bool complete = false;
    std::unique_ptr<Subprocess> process;

    void start(const SubprocessSetup& setup, bool watch_stops = false) {
        SubprocessEvents events;
        events.on_output = [this](const std::string& stream, std::string_view data) {
            if (data.empty())
                ++ends[stream];
            else
                output[stream].append(data);
        };
        events.on_consumed = [this](const std::string&, std::size_t bytes) { consumed += bytes; };
        if (watch_stops) {
            events.on_stopped = [this](int signum) {
                stops.push_back(signum);
                process->kill(SIGCONT);
            };
        }
        events.on_exit = [this](int result) { status = result; };
        events.on_complete = [this] {
            complete = true;
            process.reset();
        };
        process = std::make_unique<Subprocess>(loop, setup, std::move(events));
    }
};

int failure(const SubprocessSetup& setup) {
    Loop loop;
    try {
        Subprocess(loop, setup, SubprocessEvents());
    } catch (const Error& error) {
        CHECK_THAT(error.what(), Catch::Contains("error launching process: "));
        return error.errnum();
    }
    return 0;
}

struct TemporaryDirectory {
    std::filesystem::path path;
    TemporaryDirectory() {
        auto name = (std::filesystem::temp_directory_path() / "flux-test-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()));
        path = name;
    }
    ~TemporaryDirectory() { std::filesystem::remove_all(path); }
};

void write_script(const std::filesystem::path& path, std::string_view text) {
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

} // namespace

TEST_CASE("subprocess: streams, status, completion", "[subprocess]") {
    Run run;
    SubprocessSetup setup(shell_command("cat; echo err >&2; exit 3"));
    for (const char* name : {"stdin", "stdout", "stderr"}) setup.pipe(name);
    run.start(setup);
    run.process->streams().write("stdin", "hello\n");
    run.process->streams().close("stdin");
    run.loop.run();
    CHECK(run.output["stdout"] == "hello\n");
    CHECK(run.output["stderr"] == "err\n");
    CHECK(run.ends == std::map<std::string, int>{{"stderr", 1}, {"stdout", 1}});
    CHECK(run.consumed == 6);
    REQUIRE(run.status);
    CHECK(WEXITSTATUS(*run.status) == 3);
    CHECK(run.complete);
}

TEST_CASE("subprocess: a channel is told by its variable and goes both ways", "[subprocess]") {
    Run run;
    auto command = shell_command("eval \"read line <&$CH; echo got \\$line >&$CH\"");
    SubprocessSetup setup(std::move(command));
    setup.channel("CH");
    run.start(setup);
    run.process->streams().write("CH", "word\n");
    run.loop.run();
    CHECK(run.output["CH"] == "got word\n");
    CHECK(run.complete);
}

TEST_CASE("subprocess: signals go to the group, stops are told", "[subprocess]") {
    Run run;
    SubprocessSetup setup(shell_command("trap 'exit 7' TERM; (echo ready; exec sleep 100) & wait; exit 1"));
    setup.pipe("stdout");
    bool signalled = false;
    SubprocessEvents events;
    std::optional<int> status;
    bool complete = false;
    Loop loop;
    std::unique_ptr<Subprocess> process;
    events.on_output = [&](const std::string&, std::string_view) {
        if (!std::exchange(signalled, true)) process->kill(SIGTERM);
    };
    events.on_exit = [&](int result) { status = result; };
    events.on_complete = [&] {
        complete = true;
        CHECK_THROWS_AS(process->kill(SIGTERM), Error);
    };
    process = std::make_unique<Subprocess>(loop, setup, std::move(events));
    loop.run(); // ends only when the sleep, which holds stdout, has got the signal too
    CHECK(complete);
    REQUIRE(status);
    CHECK(WEXITSTATUS(*status) == 7);

    SubprocessSetup stopper(shell_command("kill -STOP $$; exit 5"));
    run.start(stopper, true);
    run.loop.run();
    CHECK(run.stops == std::vector<int>{SIGSTOP});
    CHECK(WEXITSTATUS(*run.status) == 5);
}

TEST_CASE("spawn: search, directory and errors", "[subprocess]") {
    TemporaryDirectory directory;
    write_script(directory.path / "plain-script", "echo no interpreter line: $1; pwd\n");
    Run run;
    Command command({"plain-script", "arg"});
    command.env = {"PATH=/nonexistent:" + directory.path.string()};
    command.cwd = "/nonexistent";
    command.fallback_cwd = "/";
    SubprocessSetup setup(command);
    setup.pipe("stdout");
    run.start(setup);
    run.loop.run();
    CHECK(run.output["stdout"] == "no interpreter line: arg\n/\n");

    command.fallback_cwd.clear();
    CHECK(failure(SubprocessSetup(command)) == ENOENT);
    command.cwd.clear();
    command.argv[0] = "no-such-program";
    CHECK(failure(SubprocessSetup(command)) == ENOENT);
    command.argv[0] = "not-executable";
    std::ofstream(directory.path / "not-executable") << "x";
    CHECK(failure(SubprocessSetup(command)) == EACCES);
    command.argv[0] = "/";
    CHECK(failure(SubprocessSetup(command)) == EACCES);
    CHECK(failure(SubprocessSetup(Command())) == EINVAL);
}

TEST_CASE("spawn: descriptors of the child", "[subprocess]") {
    FileDescriptor leak(::open("/dev/null", O_RDONLY)); // not close-on-exec: must not arrive
    Run run;
    SubprocessSetup setup(shell_command("ls -l /proc/self/fd | awk 'NF > 8 { print $9, $11 }' | sort -n"));
    setup.pipe("stdout");
    setup.stream("stdin").kind = StreamSetup::Kind::null;
    FileDescriptor passed(::open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CHECK(setup.pass(passed.get()) == 3);
    run.start(setup);
    run.loop.run();
    CHECK_THAT(run.output["stdout"], Catch::Contains("0 /dev/null\n") && Catch::Contains("\n3 /etc\n"));
    CHECK_THAT(run.output["stdout"], !Catch::Contains("\n" + std::to_string(leak.get()) + " /dev/null"));
}

TEST_CASE("command: environment", "[subprocess]") {
    Command command;
    command.env = {"A=1", "AB=2"};
    CHECK(command.getenv("A") == "1");
    CHECK(command.getenv("B").data() == nullptr);
    command.setenv("A", "3");
    command.unsetenv("AB");
    CHECK(command.env == std::vector<std::string>{"A=3"});
}
