#include <flux/pipe.hpp>
#include <flux/process_host.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>

using namespace flux;
using StreamKind = launcher_protocol::StreamKind;

namespace {

struct RunDirectory {
    std::filesystem::path path;
    RunDirectory() {
        auto name = (std::filesystem::temp_directory_path() / "flux-test-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()));
        path = name;
    }
    ~RunDirectory() { remove(); } // which ends the launcher
    void remove() const { std::filesystem::remove_all(path); }
    std::string socket() const { return path / "launcher-0"; }
};

// A client and what it was told.
struct Client {
    Loop& loop;
    std::map<std::uint64_t, HostedProcess> started;
    std::map<std::uint64_t, int> failed, exited, stopped;
    std::vector<int> killed;
    int lost = 0;
    std::unique_ptr<LauncherHost> host;

    Client(Loop& loop, const RunDirectory& directory) : loop(loop) {
        LauncherOptions options;
        options.program = FLUX_TEST_LAUNCHER;
        options.socket_path = directory.socket();
        ProcessHostEvents events;
        events.on_started = [this](HostedProcess process) {
            auto id = process.id;
            started[id] = std::move(process);
            this->loop.stop();
        };
        events.on_failed = [this](std::uint64_t id, int errnum) { failed[id] = errnum, this->loop.stop(); };
        events.on_exited = [this](std::uint64_t id, int status) { exited[id] = status, this->loop.stop(); };
        events.on_stopped = [this](std::uint64_t id, int signum) { stopped[id] = signum, this->loop.stop(); };
        events.on_killed = [this](std::uint64_t, int errnum) { killed.push_back(errnum), this->loop.stop(); };
        events.on_lost = [this](const Error&) { ++lost, this->loop.stop(); };
        host = std::make_unique<LauncherHost>(loop, std::move(options), std::move(events));
    }

    template <class F> void until(F done) {
        while (!done()) loop.run();
    }

    std::vector<HostedProcess> list() {
        std::optional<std::vector<HostedProcess>> result;
        host->connect([&](std::vector<HostedProcess> found) { result = std::move(found), loop.stop(); });
        until([&] { return result.has_value(); });
        return std::move(*result);
    }

    HostedProcess& start(HostedStart request) {
        auto id = host->start(std::move(request));
        until([&] { return started.contains(id) || failed.contains(id); });
        REQUIRE(started.contains(id));
        return started[id];
    }

    std::string read_all(HostedProcess& process, std::size_t stream) {
        std::string result;
        bool ended = false;
        PipeReader reader(loop, std::move(process.fds.at(stream)), ReadMode::raw, [&](std::string_view data) {
            result.append(data);
            ended = data.empty();
            if (ended) loop.stop();
        });
        until([&] { return ended; });
        return result;
    }
};

HostedStart script(const std::string& text, std::vector<StreamKind> streams = {}) {
    HostedStart request;
    request.command = Command({"/bin/sh", "-c", text});
    request.command.env = {"PATH=/usr/bin:/bin"};
    request.streams = std::move(streams);
    while (request.streams.size() < 3) request.streams.push_back(StreamKind::null);
    return request;
}

bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

} // namespace

TEST_CASE("launcher: start, streams, status, errors", "[launcher]") {
    RunDirectory directory;
    Loop loop;
    Client client(loop, directory);
    CHECK(client.list().empty());
    auto request = script("cat; eval \"echo chan >&$CH\"; exit 3",
                          {StreamKind::input, StreamKind::output, StreamKind::null, StreamKind::channel});
    request.command.setenv("CH", "3");
    request.label = "one";
    auto& process = client.start(std::move(request));
    CHECK(process.pid > 0);
    CHECK(process.start_time > 1e9);
    CHECK(process.label == "one");
    REQUIRE(process.fds.size() == 4);
    CHECK(!process.fds[2]);
    REQUIRE(::write(process.fds[0].get(), "hello", 5) == 5);
    process.fds[0].reset();
    client.host->close_stream(process.id, 0);
    CHECK(client.read_all(process, 1) == "hello");
    CHECK(client.read_all(process, 3) == "chan\n");
    client.until([&] { return client.exited.contains(process.id); });
    CHECK(WEXITSTATUS(client.exited[process.id]) == 3);

    auto missing = script("");
    missing.command.argv = {"/no/such/program"};
    auto id = client.host->start(std::move(missing));
    client.until([&] { return client.failed.contains(id); });
    CHECK(client.failed[id] == ENOENT);

    auto too_long = script("");
    too_long.command.argv.push_back(std::string(3 * 1024 * 1024, 'x'));
    id = client.host->start(std::move(too_long));
    client.until([&] { return client.failed.contains(id); });
    CHECK(client.failed[id] == E2BIG);
}

TEST_CASE("launcher: a large environment and a given descriptor", "[launcher]") {
    RunDirectory directory;
    Loop loop;
    Client client(loop, directory);
    auto request = script("echo ${#A} ${#B}", {StreamKind::null, StreamKind::given});
    request.command.setenv("A", std::string(100'000, 'a'));
    request.command.setenv("B", std::string(100'000, 'b'));
    int fds[2];
    REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
    request.given.emplace_back(fds[1]);
    auto id = client.start(std::move(request)).id;
    HostedProcess reader;
    reader.fds.emplace_back(fds[0]);
    CHECK(client.read_all(reader, 0) == "100000 100000\n"); // and it ends: the launcher keeps no copy
    client.until([&] { return client.exited.contains(id); });
}

TEST_CASE("launcher: processes, pipes and statuses outlive the client", "[launcher]") {
    RunDirectory directory;
    Loop loop;
    auto first = std::make_unique<Client>(loop, directory);
    auto request = script("echo before; read line; echo after $line", {StreamKind::input, StreamKind::output});
    request.label = "lives";
    request.note = "first note";
    auto lives = first->start(std::move(request)).id;
    request = script("exit 4");
    request.keep_status = true;
    auto ended = first->start(std::move(request)).id;
    first->until([&] { return first->exited.contains(ended); });
    first->host->set_note(lives, "second note");
    first.reset();

    Client second(loop, directory);
    auto found = second.list();
    REQUIRE(found.size() == 2);
    auto& process = found[0];
    CHECK(process.id == lives);
    CHECK(process.label == "lives");
    CHECK(process.note == "second note");
    CHECK(!process.status);
    CHECK(found[1].id == ended);
    REQUIRE(found[1].status);
    CHECK(WEXITSTATUS(*found[1].status) == 4);
    REQUIRE(::write(process.fds.at(0).get(), "x\n", 2) == 2);
    CHECK(second.read_all(process, 1) == "before\nafter x\n");
    second.until([&] { return second.exited.contains(lives); });
    second.host->forget(ended);
    // Ids are never used again.
    CHECK(second.start(script("")).id > ended);

    Client third(loop, directory); // the newest client is the only one
    for (const auto& left : third.list()) CHECK(left.id != ended);
    second.until([&] { return second.lost > 0; });
}

TEST_CASE("launcher: signals, stops and groups", "[launcher]") {
    RunDirectory directory;
    Loop loop;
    Client client(loop, directory);
    auto& process =
        client.start(script("(echo; exec sleep 100) & read x; exit 0", {StreamKind::input, StreamKind::output}));
    PipeReader ready(loop, std::move(process.fds[1]), ReadMode::raw, [&](std::string_view) { loop.stop(); });
    loop.run();
    client.host->kill(process.id, SIGSTOP);
    client.until([&] { return client.stopped.contains(process.id); });
    CHECK(client.stopped[process.id] == SIGSTOP);
    client.host->kill(process.id, SIGCONT);
    REQUIRE(::write(process.fds[0].get(), "\n", 1) == 1);
    client.until([&] { return client.exited.contains(process.id); });
    // The leader has ended; its group can be signalled as long as somebody is in it.
    client.host->kill(process.id, 0);
    client.host->kill(process.id, SIGKILL);
    client.until([&] { return ready.ended(); });
    client.killed.clear();
    do {
        client.host->kill(process.id, 0);
        client.until([&] { return !client.killed.empty(); });
    } while (std::exchange(client.killed, {}).front() != ESRCH);
    client.host->kill(12345, SIGTERM); // no such process
    client.until([&] { return !client.killed.empty(); });
    CHECK(client.killed == std::vector<int>{ESRCH});
}

TEST_CASE("launcher: ends with its run directory, with everything below it", "[launcher]") {
    RunDirectory directory;
    Loop loop;
    Client client(loop, directory);
    // A child that left its group and session.
    auto& process =
        client.start(script("setsid sleep 100 & echo $!; exec sleep 100", {StreamKind::null, StreamKind::output}));
    pid_t daemon = 0;
    PipeReader reader(loop, std::move(process.fds[1]), ReadMode::line, [&](std::string_view line) {
        if (daemon == 0) daemon = std::stoi(std::string(line));
        loop.stop();
    });
    client.until([&] { return daemon != 0; });
    CHECK(exists(daemon));
    directory.remove();
    client.until([&] { return client.lost > 0; });
    CHECK(!exists(process.pid));
    CHECK(!exists(daemon));
}

TEST_CASE("launcher: a lost launcher is replaced at the next start", "[launcher]") {
    RunDirectory directory;
    Loop loop;
    Client client(loop, directory);
    auto first = client.start(script("exec sleep 100")).id;
    client.host->terminate();
    client.until([&] { return client.lost > 0; });
    client.exited.clear();
    auto second = client.start(script("exit 1")).id;
    CHECK(second > first);
    client.until([&] { return client.exited.contains(second); });
}

TEST_CASE("launcher protocol: malformed bodies", "[launcher]") {
    launcher_protocol::StartBody body;
    body.argv = {"a", "b"};
    body.streams = {StreamKind::null, StreamKind::channel};
    body.note = "n";
    auto bytes = body.encode();
    launcher_protocol::StartBody decoded;
    REQUIRE(decoded.decode(bytes));
    CHECK(decoded.argv == body.argv);
    CHECK(decoded.streams == body.streams);
    for (std::size_t size = 0; size < bytes.size(); ++size) CHECK(!decoded.decode(bytes.substr(0, size)));
    CHECK(!decoded.decode(std::string(100, '\xff')));
    CHECK(decoded.decode(bytes + "of a newer version"));
}

TEST_CASE("local host: the same without a launcher", "[launcher]") {
    Loop loop;
    std::optional<HostedProcess> started;
    std::vector<int> events;
    ProcessHostEvents handlers;
    std::unique_ptr<LocalProcessHost> host;
    handlers.on_started = [&](HostedProcess process) { started = std::move(process); };
    handlers.on_failed = [&](std::uint64_t, int errnum) { events.push_back(errnum); };
    handlers.on_stopped = [&](std::uint64_t id, int signum) {
        events.push_back(signum);
        host->kill(id, SIGCONT);
    };
    handlers.on_killed = [&](std::uint64_t, int errnum) { events.push_back(errnum); };
    handlers.on_exited = [&](std::uint64_t id, int status) {
        events.push_back(WEXITSTATUS(status));
        host->forget(id);
    };
    host = std::make_unique<LocalProcessHost>(loop, std::move(handlers));
    host->start(script("kill -STOP $$; exit 6", {StreamKind::input}));
    loop.run();
    REQUIRE(started);
    CHECK(started->fds.at(0));
    CHECK(events == std::vector<int>{SIGSTOP, 0, 6});
    HostedStart missing;
    missing.command.argv = {"/no/such/program"};
    host->start(std::move(missing));
    loop.run();
    CHECK(events.back() == ENOENT);
}
