#include <flux/error.hpp>
#include <flux/pipe.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <vector>

using namespace flux;

namespace {

struct Pipe {
    FileDescriptor read_end, write_end;
    Pipe() {
        int fds[2];
        REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
        read_end.reset(fds[0]);
        write_end.reset(fds[1]);
    }
    void put(std::string_view text) const {
        REQUIRE(::write(write_end.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
};

std::vector<std::string> read_all(ReadMode mode, std::string_view text, std::size_t limit = default_pipe_limit) {
    Loop loop;
    Pipe pipe;
    pipe.put(text);
    pipe.write_end.reset();
    std::vector<std::string> seen;
    std::unique_ptr<PipeReader> reader;
    reader = std::make_unique<PipeReader>(
        loop, std::move(pipe.read_end), mode,
        [&](std::string_view data) {
            seen.emplace_back(data);
            if (data.empty()) reader.reset();
        },
        limit);
    loop.run();
    return seen;
}

/// While it lives, this process can open no further descriptor.
class NoMoreDescriptors {
public:
    NoMoreDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        auto none = before_;
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

using Strings = std::vector<std::string>;

} // namespace

TEST_CASE("pipe reader: modes and limits", "[subprocess]") {
    CHECK(read_all(ReadMode::raw, "a\nb") == Strings{"a\nb", ""});
    CHECK(read_all(ReadMode::line, "a\n\nb") == Strings{"a\n", "\n", "b", ""});
    CHECK(read_all(ReadMode::lines, "a\nbc\nd") == Strings{"a\nbc\n", "d", ""});
    CHECK(read_all(ReadMode::line, "abcdefgh\nxy", 3) == Strings{"abc", "def", "gh\n", "xy", ""});
    CHECK(read_all(ReadMode::lines, "a\nbcdef\n", 4) == Strings{"a\n", "bcde", "f\n", ""});
    CHECK(read_all(ReadMode::raw, "abcdef", 4) == Strings{"abcd", "ef", ""});
    CHECK(read_all(ReadMode::line, "") == Strings{""});
}

TEST_CASE("pipe reader: pause, resume, hand-over", "[subprocess]") {
    Loop loop;
    Pipe pipe;
    pipe.put("one\ntwo\nthr");
    Strings seen;
    std::unique_ptr<PipeReader> reader;
    reader = std::make_unique<PipeReader>(loop, std::move(pipe.read_end), ReadMode::line, [&](std::string_view data) {
        seen.emplace_back(data);
        reader->pause();
    });
    loop.run(); // nothing is watched after the pause
    CHECK(seen == Strings{"one\n"});
    CHECK(reader->pending() == "two\nthr");
    reader->resume();
    loop.run();
    CHECK(seen == Strings{"one\n", "two\n"});

    FileDescriptor copy(::dup(reader->fd()));
    std::string pending(reader->pending());
    reader.reset();
    pipe.put("ee\n");
    pipe.write_end.reset();
    seen.clear();
    PipeReader second(loop, std::move(copy), ReadMode::line, [&](std::string_view data) { seen.emplace_back(data); });
    second.unread(pending);
    loop.run();
    CHECK(seen == Strings{"three\n", ""});
    CHECK(second.ended());
}

TEST_CASE("pipe writer: credit, limit, end", "[subprocess]") {
    Loop loop;
    Pipe pipe;
    std::size_t credit = 0;
    constexpr std::size_t limit = 300'000;
    PipeWriter writer(
        loop, std::move(pipe.write_end), [&](std::size_t bytes) { credit += bytes; }, limit);
    std::string block(200'000, 'x'); // more than a pipe takes
    writer.write(block);
    CHECK(!writer.pending().empty());
    CHECK_THROWS_WITH(writer.write(std::string(limit, 'y')), Catch::Contains("do not fit"));
    writer.close();
    CHECK_THROWS_AS(writer.write("z"), Error);
    std::string received;
    PipeReader reader(loop, std::move(pipe.read_end), ReadMode::raw,
                      [&](std::string_view data) { received.append(data); });
    loop.run();
    CHECK(received == block);
    CHECK(credit == block.size());
}

TEST_CASE("pipe writer: a reader that went away", "[subprocess]") {
    Loop loop;
    Pipe pipe;
    std::size_t credit = 0;
    PipeWriter writer(loop, std::move(pipe.write_end), [&](std::size_t bytes) { credit += bytes; });
    pipe.read_end.reset();
    writer.write("lost"); // no SIGPIPE
    CHECK(writer.closed());
    CHECK_THROWS_AS(writer.write("more"), Error);
    loop.run();
    CHECK(credit == 4);
}

TEST_CASE("exit watcher: tells the wait status once", "[subprocess]") {
    Loop loop;
    pid_t pid = ::fork();
    if (pid == 0) ::_exit(3);
    std::vector<int> seen;
    ExitWatcher watcher(loop, pid, [&](int status) { seen.push_back(status); });
    loop.run();
    REQUIRE(seen.size() == 1);
    CHECK(WEXITSTATUS(seen[0]) == 3);
}

TEST_CASE("exit watcher: a child that cannot be watched is ended and reaped", "[subprocess]") {
    Loop loop;
    pid_t pid = ::fork();
    if (pid == 0) {
        ::pause();
        ::_exit(0);
    }
    int errnum = 0;
    {
        NoMoreDescriptors none;
        try {
            ExitWatcher watcher(loop, pid, [](int) {});
        } catch (const Error& error) {
            errnum = error.errnum();
        }
    }
    CHECK(errnum == EMFILE);
    bool reaped = ::waitpid(pid, nullptr, WNOHANG) == -1;
    if (!reaped) ::kill(pid, SIGKILL);
    CHECK(reaped);
}
