// What a reload of rexec hands over: one server parks and leaves, the next goes on with the same launcher.
#include <flux/rexec.hpp>
#include <flux/rexec_server.hpp>
#include <flux/transport.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>

using namespace flux;

namespace {

// A broker with one client: it keeps the requests that expect an answer, as the module runtime does at a reload.
struct Instance {
    Loop loop;
    Scope scope{loop};
    std::filesystem::path directory;
    std::unique_ptr<Handle> client;
    std::unique_ptr<Handle> served;
    std::unique_ptr<RexecServer> server;
    LauncherHost* launcher = nullptr;
    std::vector<std::string> log;
    std::map<std::uint32_t, Request> open;
    std::string asked; ///< the method of the last request
    struct Gate;
    Gate* gate = nullptr;

    Instance() {
        auto name = (std::filesystem::temp_directory_path() / "flux-test-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()));
        directory = name;
        int fds[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        client = std::make_unique<Handle>(loop, std::make_unique<SocketTransport>(loop, fds[0]));
        served = std::make_unique<Handle>(
            loop, std::make_unique<Gate>(*this, std::make_unique<SocketTransport>(loop, fds[1])));
        start_server();
        server->go_on();
    }
    ~Instance() { std::filesystem::remove_all(directory); }

    // Stamps what arrives with credentials, and holds it back during a reload.
    struct Gate final : Transport {
        Gate(Instance& instance, std::unique_ptr<Transport> below) : below(std::move(below)) { instance.gate = this; }
        void start(OnMessage on_message, OnClosed on_closed) override {
            pass = std::move(on_message);
            below->start(
                [this](Message message) {
                    message.credentials = {0, role_owner};
                    held.push_back(std::move(message));
                    if (!closed) open();
                },
                std::move(on_closed));
        }
        void open() {
            closed = false;
            for (auto& message : std::exchange(held, {})) pass(std::move(message));
        }
        void send(Message message) override { below->send(std::move(message)); }
        std::size_t backlog() const noexcept override { return below->backlog(); }
        std::unique_ptr<Transport> below;
        OnMessage pass;
        std::vector<Message> held;
        bool closed = false;
    };

    void start_server() {
        RexecServerOptions options;
        options.log = [this](LogLevel, const std::string& text) {
            log.push_back(text);
            loop.stop();
        };
        options.authorize = [this](const Request& request) {
            if (request.matchtag()) open[request.matchtag()] = request;
            asked = request.message().method();
            loop.stop();
        };
        server = std::make_unique<RexecServer>(*served, std::move(options));
        auto make_host = [this](ProcessHostEvents events) {
            LauncherOptions launcher_options;
            launcher_options.program = FLUX_TEST_LAUNCHER;
            launcher_options.socket_path = directory / "launcher-0";
            auto host = std::make_unique<LauncherHost>(loop, std::move(launcher_options), std::move(events));
            launcher = host.get();
            return host;
        };
        server->use_host(make_host);
        bool listed = false;
        launcher->connect([&](std::vector<HostedProcess> found) {
            server->adopt(std::move(found));
            listed = true;
            loop.stop();
        });
        until([&] { return listed; });
        server->serve();
    }

    void reload() {
        gate->closed = true;
        std::vector<std::pair<Request, Json>> parked;
        for (auto& [matchtag, request] : std::exchange(open, {})) {
            if (request.answered()) continue;
            if (auto cursor = server->park(request)) parked.emplace_back(request, std::move(*cursor));
        }
        server->hand_over();
        server.reset();
        start_server();
        for (auto& [request, cursor] : parked) {
            server->resume(request, cursor);
            open[request.matchtag()] = request;
        }
        server->go_on();
        gate->open();
    }

    void until_asked(const std::string& method) {
        until([&] { return asked == method; });
    }
    template <class F> void until(F done) {
        while (!done()) loop.run();
    }
};

struct Watched {
    explicit Watched(Loop& loop) : loop(loop) {}
    rexec::ProcessEvents events() {
        rexec::ProcessEvents events;
        events.on_started = [this](pid_t) { ++starts, loop.stop(); };
        events.on_output = [this](const std::string&, std::string_view data) {
            output += data;
            ends += data.empty();
            loop.stop();
        };
        events.on_written = [this](const std::string&) { loop.stop(); };
        events.on_finished = [this](int result) { status = result, loop.stop(); };
        events.on_end = [this](const std::optional<Error>& error) {
            ended = true;
            if (error) failure = error->what();
            loop.stop();
        };
        return events;
    }
    Loop& loop;
    int starts = 0, ends = 0, status = -1;
    bool ended = false;
    std::string output, failure;
};

RemoteCommand script(const std::string& text) {
    RemoteCommand command({"/bin/sh", "-c", text});
    command.command.env = {"PATH=/usr/bin:/bin"};
    return command;
}

Task<pid_t> started(Handle* handle, RemoteCommand* command) {
    rexec::Server server;
    co_return co_await rexec::start(*handle, server, *command, true);
}

} // namespace

TEST_CASE("rexec reload: a foreground process goes on without gap or duplicate", "[rexec]") {
    Instance instance;
    Watched watched(instance.loop);
    auto command = script("cat; exit 5");
    command.options["stdin_BUFSIZE"] = "100k";
    rexec::Process process(*instance.client, rexec::Server(), command, watched.events());
    instance.until([&] { return watched.starts == 1; });
    std::string expected;
    for (int i = 0; i < 40'000; ++i) expected += std::to_string(i) + "\n";
    process.write("stdin", expected);
    // Reload again and again while input and output are on their way.
    std::size_t next = 0;
    instance.until([&] {
        if (watched.output.size() > next) {
            next = watched.output.size() + 20'000;
            instance.reload();
        }
        return process.queued("stdin") == 0;
    });
    process.write("stdin", "half a line");
    instance.reload();
    process.close("stdin");
    instance.reload();
    instance.until([&] { return watched.ended; });
    CHECK(watched.failure.empty());
    CHECK(watched.output == expected + "half a line");
    CHECK(watched.status == 5 << 8);
    CHECK(watched.starts == 1);
    CHECK(watched.ends == 2);
}

TEST_CASE("rexec reload: started, ended and waited for at the wrong moment", "[rexec]") {
    Instance instance;
    Watched watched(instance.loop);
    auto command = script("echo x; exit 1");
    rexec::Process process(*instance.client, rexec::Server(), command, watched.events());
    instance.until_asked("exec");
    instance.reload(); // the launcher has not answered yet
    instance.until([&] { return watched.ended; });
    CHECK(watched.failure.empty());
    CHECK(watched.starts == 1);
    CHECK(watched.output == "x\n");
    CHECK(watched.status == 1 << 8);

    auto fifo = instance.directory / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    FileDescriptor gate(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
    auto background = script("printf 'partial '; read x < " + fifo.string() + "; echo line; exit 2");
    background.label = "b";
    run_task<pid_t>(instance.scope, &started, instance.client.get(), &background);
    int status = -1;
    rexec::ProcessName name("b");
    auto answer = [&](Message message) {
        REQUIRE(message.errnum() == 0);
        status = message.json().get<int>("status");
        instance.loop.stop();
    };
    instance.client->call("rexec.wait", name.encode()).then(answer);
    instance.until_asked("wait");
    instance.reload();
    REQUIRE(::write(gate.get(), "\n", 1) == 1);
    instance.until([&] { return status >= 0; });
    CHECK(status == 2 << 8);
    auto is_line = [](const std::string& text) { return text.ends_with("]: partial line\n"); };
    CHECK(std::count_if(instance.log.begin(), instance.log.end(), is_line) == 1);
}

TEST_CASE("rexec reload: foreground processes whose client did not come along are killed", "[rexec]") {
    Instance instance;
    Watched watched(instance.loop);
    auto process =
        std::make_unique<rexec::Process>(*instance.client, rexec::Server(), script("sleep 100"), watched.events());
    instance.until([&] { return watched.starts == 1; });
    SECTION("its server knew") {
        instance.open.clear();
        instance.reload();
    }
    SECTION("its server died") {
        instance.server.reset();
        instance.open.clear();
        instance.start_server();
        instance.server->go_on();
    }
    bool empty = false;
    instance.server->when_empty([&] { empty = true, instance.loop.stop(); });
    instance.until([&] { return empty; });
    process.reset();
    CHECK(empty);
}
