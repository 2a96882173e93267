// The server and the client of RFC 42 together, with processes of this program.
#include <flux/rexec.hpp>
#include <flux/rexec_server.hpp>
#include <flux/transport.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <sys/socket.h>
#include <sys/wait.h>

using namespace flux;
using namespace std::chrono_literals;

namespace {

// Gives what arrives the credentials and the route of a client.
class Stamp final : public Transport {
public:
    explicit Stamp(std::unique_ptr<Transport> below) : below_(std::move(below)) {}
    void start(OnMessage on_message, OnClosed on_closed) override {
        below_->start(
            [on_message = std::move(on_message)](Message message) {
                message.credentials = {0, role_owner};
                if (message.type == MessageType::request) message.push_route("client");
                on_message(std::move(message));
            },
            std::move(on_closed));
    }
    void send(Message message) override {
        if (message.type == MessageType::response) message.routes.pop();
        below_->send(std::move(message));
    }
    std::size_t backlog() const noexcept override { return below_->backlog(); }

private:
    std::unique_ptr<Transport> below_;
};

RemoteCommand script(const std::string& text) {
    RemoteCommand command({"/bin/sh", "-c", text});
    command.command.env = {"PATH=/usr/bin:/bin", "NOTIFY_SOCKET=x"};
    return command;
}

struct Fixture {
    Loop loop;
    Scope scope{loop};
    std::unique_ptr<Handle> client;
    std::unique_ptr<Handle> server_handle;
    std::unique_ptr<RexecServer> server;
    std::vector<std::string> log;

    Fixture() {
        int fds[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        client = std::make_unique<Handle>(loop, std::make_unique<SocketTransport>(loop, fds[0]));
        server_handle =
            std::make_unique<Handle>(loop, std::make_unique<Stamp>(std::make_unique<SocketTransport>(loop, fds[1])));
        RexecServerOptions options;
        options.rank = 7;
        options.local_uri = "local:///here";
        options.log = [this](LogLevel level, const std::string& text) {
            log.push_back(std::to_string(static_cast<int>(level)) + " " + text);
            loop.stop();
        };
        server = std::make_unique<RexecServer>(*server_handle, std::move(options));
        server->serve();
    }

    template <class F> void until(F done) {
        while (!done()) loop.run();
    }

    /// The error of an RPC that must fail.
    std::string failure(const char* method, Json payload, bool streaming = false) {
        std::optional<std::string> text;
        auto on_answer = [&](Message message) {
            text = std::to_string(message.errnum()) + " " + (message.errnum() ? message.error_text() : "");
            loop.stop();
        };
        auto topic = std::string("rexec.") + method;
        if (streaming)
            client->stream(topic, std::move(payload)).then(on_answer);
        else
            client->call(topic, std::move(payload)).then(on_answer);
        until([&] { return text.has_value(); });
        return *text;
    }

    Json exec(RemoteCommand command, int flags = 0, int local_flags = 0) {
        return Json::object("cmd", command.encode(), "flags", flags, "local_flags", local_flags);
    }
};

// A foreground process and everything it told.
struct Watched {
    Loop& loop;
    std::vector<std::string> told;
    std::string output;
    bool ended = false;
    std::unique_ptr<rexec::Process> process;

    rexec::ProcessEvents events() {
        rexec::ProcessEvents events;
        events.on_started = [this](pid_t) { tell("started"); };
        events.on_output = [this](const std::string& stream, std::string_view data) {
            output += data;
            tell(data.empty() ? "eof " + stream : stream);
        };
        events.on_written = [this](const std::string& stream) { tell("written " + stream); };
        events.on_stopped = [this] { tell("stopped"); };
        events.on_finished = [this](int status) { tell("finished " + std::to_string(status)); };
        events.on_end = [this](const std::optional<Error>& failure) {
            ended = true;
            tell(failure ? "failed: " + failure->text() : "end");
        };
        return events;
    }
    void tell(std::string what) {
        told.push_back(std::move(what));
        loop.stop();
    }
    bool has(const std::string& what) const { return std::find(told.begin(), told.end(), what) != told.end(); }
};

Task<int> waited(Handle* handle, std::string label, std::string* output) {
    rexec::ProcessName name(label);
    rexec::Server server;
    auto result = co_await rexec::wait(*handle, server, name);
    for (const auto& io : result.output) *output += io.data;
    co_return result.status;
}

Task<pid_t> started(Handle* handle, RemoteCommand* command, bool waitable) {
    rexec::Server server;
    co_return co_await rexec::start(*handle, server, *command, waitable);
}

Task<std::string> listed(Handle* handle) {
    rexec::Server server;
    std::string text;
    for (const auto& info : co_await rexec::list(*handle, server))
        text += info.command + " " + info.label + " " + info.state + "\n";
    co_return text;
}

Task<int> killed(Handle* handle, std::string label, int signum) {
    rexec::ProcessName name(label);
    rexec::Server server;
    co_await rexec::kill(*handle, server, name, signum);
    co_return 0;
}

} // namespace

TEST_CASE("rexec: foreground, input by credit, output, environment", "[rexec]") {
    Fixture fixture;
    Watched watched{fixture.loop};
    auto command = script("cat; echo $FLUX_URI ${NOTIFY_SOCKET-none}; printf '\\377' >&2; exit 3");
    command.options["stdin_BUFSIZE"] = "1k";
    watched.process = std::make_unique<rexec::Process>(*fixture.client, rexec::Server(), command, watched.events());
    std::string input(10'000, 'x');
    input += '\n';
    watched.process->write("stdin", input);
    watched.process->close("stdin");
    fixture.until([&] { return watched.ended; });
    CHECK(watched.told.front() == "started");
    CHECK(watched.told.back() == "end");
    CHECK(watched.has("written stdin"));
    CHECK(watched.has("finished 768"));
    CHECK(watched.has("eof stdout"));
    CHECK(watched.has("eof stderr"));
    CHECK(watched.output.size() == input.size() + 20);
    CHECK_THAT(watched.output, Catch::Contains("local:///here none\n") && Catch::Contains("\xff"));
}

TEST_CASE("rexec: channels, stops, signals", "[rexec]") {
    Fixture fixture;
    Watched watched{fixture.loop};
    auto command = script("eval \"read line <&$CH; echo got \\$line >&$CH\"; kill -STOP $$; sleep 100");
    command.channels = {"CH"};
    watched.process = std::make_unique<rexec::Process>(*fixture.client, rexec::Server(), command, watched.events(),
                                                       rexec_protocol::forward_channels | rexec_protocol::write_credit);
    watched.process->write("CH", "word\n");
    fixture.until([&] { return watched.has("stopped"); });
    CHECK(watched.output == "got word\n");
    watched.process->kill(SIGCONT);
    watched.process->kill(SIGTERM);
    fixture.until([&] { return watched.ended; });
    CHECK(watched.has("finished 15"));
    CHECK(watched.has("eof CH"));
    CHECK(!watched.has("eof stdout"));
}

TEST_CASE("rexec: a foreground process goes with its client", "[rexec]") {
    Fixture fixture;
    Watched watched{fixture.loop};
    watched.process =
        std::make_unique<rexec::Process>(*fixture.client, rexec::Server(), script("sleep 100"), watched.events());
    fixture.until([&] { return watched.has("started"); });
    SECTION("destroyed") { watched.process.reset(); }
    SECTION("disconnected") { fixture.client->notify("rexec.disconnect"); }
    bool empty = false;
    fixture.server->when_empty([&] { empty = true, fixture.loop.stop(); });
    fixture.until([&] { return empty; });
    CHECK(fixture.server->process_count() == 0);
}

TEST_CASE("rexec: background, labels, wait, log", "[rexec]") {
    Fixture fixture;
    auto command = script("echo out; echo err >&2; kill -9 $$");
    command.label = "bg";
    pid_t pid = run_task<pid_t>(fixture.scope, &started, fixture.client.get(), &command, true);
    CHECK(pid > 0);
    CHECK(fixture.failure("exec", fixture.exec(command)) == "22 command label is not unique");
    std::string output;
    CHECK(run_task<int>(fixture.scope, &waited, fixture.client.get(), std::string("bg"), &output) == SIGKILL);
    CHECK_THAT(output, Catch::Contains("out\n") && Catch::Contains("err\n"));
    auto has = [&](const std::string& line) {
        return std::find(fixture.log.begin(), fixture.log.end(), line) != fixture.log.end();
    };
    auto tag = "[" + std::to_string(pid) + "]: ";
    CHECK(has("6 bg" + tag + "out\n"));
    CHECK(has("3 bg" + tag + "err\n"));
    CHECK(has("6 bg: /bin/sh" + tag + "Killed by signal 9"));
    CHECK(fixture.failure("wait", Json::object("pid", -1, "label", "bg")) ==
          "3 label bg does not belong to any subprocess");
}

TEST_CASE("rexec: list, kill, attach, zombies", "[rexec]") {
    Fixture fixture;
    auto command = script("trap 'echo bye; exit 0' TERM; (echo hello; exec sleep 100) & wait");
    command.label = "a";
    run_task<pid_t>(fixture.scope, &started, fixture.client.get(), &command, true);
    fixture.until([&] { return !fixture.log.empty(); });
    CHECK(run_task<std::string>(fixture.scope, &listed, fixture.client.get()) == "/bin/sh a R\n");
    {
        Watched first{fixture.loop};
        rexec::ProcessName name("a");
        first.process = std::make_unique<rexec::Process>(*fixture.client, rexec::Server(), name, first.events());
        fixture.until([&] { return first.has("started"); });
        CHECK(fixture.failure("attach", Json::object("pid", -1, "label", "a", "flags", 1), true) ==
              "16 subprocess already has a client attached");
        CHECK(fixture.failure("wait", Json::object("pid", -1, "label", "a")) == "16 subprocess has a client attached");
    } // back to the background
    CHECK(run_task<int>(fixture.scope, &killed, fixture.client.get(), std::string("a"), SIGTERM) == 0);
    fixture.until([&] { return fixture.log.back().ends_with("Exit 0"); });
    CHECK(run_task<std::string>(fixture.scope, &listed, fixture.client.get()) == "/bin/sh a Z\n");
    CHECK_THROWS_AS(run_task<int>(fixture.scope, &killed, fixture.client.get(), std::string("b"), SIGTERM), Error);

    Watched second{fixture.loop};
    rexec::ProcessName name("a");
    second.process = std::make_unique<rexec::Process>(*fixture.client, rexec::Server(), name, second.events());
    fixture.until([&] { return second.ended; });
    CHECK(second.has("finished 0"));
    CHECK(second.told.back() == "end");
    CHECK(run_task<std::string>(fixture.scope, &listed, fixture.client.get()).empty());
}

TEST_CASE("rexec: errors as clients know them", "[rexec]") {
    Fixture fixture;
    auto command = script("");
    CHECK(fixture.failure("exec", Json::object("flags", 0)).starts_with("71 failed to unpack request: "));
    CHECK(fixture.failure("exec", Json::object("cmd", Json::object("cmdline", 1), "flags", 0)) ==
          "71 error parsing command string");
    RemoteCommand empty;
    CHECK(fixture.failure("exec", fixture.exec(empty)) == "71 command string is empty");
    CHECK(fixture.failure("exec", fixture.exec(command, 16), true) ==
          "22 waitable flag only supported in background mode");
    CHECK(fixture.failure("exec", fixture.exec(command, 8)) ==
          "22 write-credit flag is not allowed in background mode");
    CHECK(fixture.failure("exec", fixture.exec(command, 0, 1)) ==
          "22 stdio-fallthrough flag is not allowed in background mode");
    CHECK(fixture.failure("exec", fixture.exec(command, 0, 64), true).starts_with("22 "));
    auto channel = script("");
    channel.channels = {"C"};
    CHECK(fixture.failure("exec", fixture.exec(channel)) == "22 auxiliary channels are not allowed in background mode");
    RemoteCommand missing({"/no/such"});
    CHECK(fixture.failure("exec", fixture.exec(missing), true) ==
          "2 error launching process: No such file or directory");
    CHECK(fixture.failure("exec", fixture.exec(missing)) == "2 error launching process: No such file or directory");
    CHECK(fixture.failure("attach", Json::object("pid", 1, "flags", 0)) ==
          "71 attach request is missing STREAMING flag");
    CHECK(fixture.failure("attach", Json::object("pid", 1, "flags", 0), true) ==
          "2 pid 1 does not belong to any subprocess");
    CHECK(fixture.failure("kill", Json::object("pid", 1, "signum", 0)) == "3 pid 1 does not belong to any subprocess");
    auto background = script("sleep 100");
    background.label = "bg";
    run_task<pid_t>(fixture.scope, &started, fixture.client.get(), &background, false);
    CHECK(fixture.failure("wait", Json::object("pid", -1, "label", "bg")) == "22 process is not waitable");
    fixture.server->refuse();
    CHECK(fixture.failure("exec", fixture.exec(command)) == "38 subprocess server is shutting down");
    fixture.server->signal_all(SIGKILL);
    bool gone = false;
    fixture.server->when_empty([&] { gone = true, fixture.loop.stop(); });
    fixture.until([&] { return gone; });

    // More input than the credit is the end of it.
    Fixture second;
    Watched watched{second.loop};
    auto greedy = script("sleep 100");
    greedy.options["stdin_BUFSIZE"] = "10";
    watched.process = std::make_unique<rexec::Process>(*second.client, rexec::Server(), greedy, watched.events(), 0);
    watched.process->write("stdin", "more than ten bytes");
    second.until([&] { return watched.ended; });
    CHECK_THAT(watched.told.back(), Catch::StartsWith("failed: internal fatal error: "));
}
