#include "session.hpp"

#include <flux/base64.hpp>
#include <flux/error.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flux::shell {
namespace {

constexpr unsigned short default_rows = 25, default_columns = 80;
constexpr std::size_t chunk_size = 16 * 1024;
/// A longer line is captured in pieces.
constexpr std::size_t line_limit = 1 << 16;
/// More typed input than this is not kept for a program that does not read.
constexpr std::size_t input_limit = 1 << 20;

Error failure(const char* what) { return Error(errno, std::string(what) + ": " + errno_text(errno)); }

Json data_message(std::string_view data) {
    auto message = Json::object("type", "data");
    try {
        message.set("data", data);
    } catch (const Error&) { // not UTF-8
        message.set("data", base64_encode(data));
        message.set("encoding", "base64");
    }
    return message;
}

std::string data_of(JsonView message) {
    auto data = message.get<std::string_view>("data");
    return message.get_or<std::string_view>("encoding", "UTF-8") == "base64" ? base64_decode(data) : std::string(data);
}

std::string describe(int status) {
    if (WIFSIGNALED(status)) return ::strsignal(WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? "Exited" : "Exited with exit code " + std::to_string(WEXITSTATUS(status));
}

} // namespace

PtySession::PtySession(Shell& shell, ShellTask& task, bool capture, bool interactive)
    : shell_(shell), task_(task), capture_(capture), interactive_(interactive) {
    master_.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (!master_ || ::grantpt(master_.get()) < 0 || ::unlockpt(master_.get()) < 0) throw failure("opening a terminal");
    std::array<char, 128> path{};
    if (::ptsname_r(master_.get(), path.data(), path.size()) != 0) throw failure("opening a terminal");
    slave_.reset(::open(path.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!slave_) throw failure(path.data());
    winsize size{};
    size.ws_row = default_rows;
    size.ws_col = default_columns;
    ::ioctl(master_.get(), TIOCSWINSZ, &size);
    task.use_terminal(path.data());
}

void PtySession::started() {
    slave_.reset();
    task_.deliver_output("stderr", {});
    hold_ = shell_.hold();
    watcher_ = std::make_unique<FdWatcher>(shell_.loop(), master_.get(), [this](int ready) { on_ready(ready); });
    shell_.scope().spawn("pty", &PtySession::pump, this);
}

Task<> PtySession::pump(PtySession* self) {
    while (self->interactive_ && !self->seen_) co_await self->changed_.wait();
    while (!self->finished_) {
        auto progress = self->read_some();
        if (progress == Progress::more) {
            // A client that does not keep up holds back the program.
            if (self->client_) {
                auto client = *self->client_;
                co_await client.room();
            }
            continue;
        }
        if (self->ended_) break;
        if (progress == Progress::nothing_yet) {
            self->readable_ = false;
            self->watch();
            while (!self->readable_ && !self->ended_ && !self->finished_) co_await self->changed_.wait();
        } else {
            while (!self->ended_) co_await self->changed_.wait();
        }
    }
    self->finish();
}

PtySession::Progress PtySession::read_some() {
    std::array<char, chunk_size> chunk;
    auto size = ::read(master_.get(), chunk.data(), chunk.size());
    if (size < 0 && errno == EINTR) return Progress::more;
    if (size < 0 && errno == EAGAIN) return Progress::nothing_yet;
    if (size <= 0) return Progress::end; // EIO: nobody has the other end open
    std::string_view data(chunk.data(), static_cast<std::size_t>(size));
    if (client_) client_->respond(data_message(data));
    if (capture_) capture(data);
    return Progress::more;
}

// Whole lines, as from a pipe: who labels them needs to know where they begin.
void PtySession::capture(std::string_view data) {
    line_ += data;
    auto whole = line_.size() > line_limit ? line_.size() : line_.rfind('\n') + 1;
    if (whole == 0) return;
    task_.deliver_output("stdout", std::string_view(line_).substr(0, whole));
    line_.erase(0, whole);
}

void PtySession::on_ready(int directions) {
    if (directions & FdWatcher::writable) write({});
    if (directions & FdWatcher::readable) readable_ = true;
    watch();
    changed_.notify_all();
}

void PtySession::watch() {
    int directions = readable_ ? 0 : FdWatcher::readable;
    if (!input_.empty()) directions |= FdWatcher::writable;
    watcher_->watch(directions);
}

void PtySession::ended() {
    ended_ = true;
    if (interactive_) return changed_.notify_all();
    while (read_some() == Progress::more) {}
    finish();
    changed_.notify_all();
}

void PtySession::finish() {
    if (std::exchange(finished_, true)) return;
    watcher_.reset();
    if (client_) {
        int status = task_.wait_status();
        client_->respond(Json::object("type", "exit", "message", describe(status), "status", status));
        client_->end();
        client_.reset();
    }
    if (!line_.empty()) task_.deliver_output("stdout", line_);
    task_.deliver_output("stdout", {});
    hold_.release();
}

// Clients -----------------------------------------------------------------------------------------------------------

void PtySession::receive(Request request) {
    auto message = request.json();
    auto type = message.get<std::string>("type");
    if (type == "attach") return attach(std::move(request));
    if (!client_ || !client_->same_sender(request)) throw Error(ENOENT, "not attached");
    if (type == "data")
        write(data_of(message));
    else if (type == "resize")
        resize(message["winsize"]);
    else if (type == "detach")
        disconnect(request);
    else
        throw Error(EPROTO, "unknown message '" + type + "'");
    if (!request.message().noresponse()) request.respond();
}

void PtySession::attach(Request request) {
    request.require_streaming();
    if (client_) throw Error(EEXIST, "somebody else is attached");
    if (finished_) throw Error(ENOENT, "the task has ended");
    auto mode = request.json().get<std::string_view>("mode");
    if (mode != "rw" && mode != "ro" && mode != "wo") throw Error(EPROTO, "unknown mode");
    resize(request.json()["winsize"]);
    request.respond(Json::object("type", "attach"));
    client_ = std::move(request);
    seen_ = true;
    changed_.notify_all();
}

void PtySession::resize(JsonView winsize) {
    auto rows = winsize.get<int>("rows"), columns = winsize.get<int>("cols");
    if (rows <= 0 || columns <= 0 || rows > 0xFFFF || columns > 0xFFFF) throw Error(EINVAL, "bad size of a terminal");
    struct winsize size {};
    size.ws_row = static_cast<unsigned short>(rows);
    size.ws_col = static_cast<unsigned short>(columns);
    if (::ioctl(master_.get(), TIOCSWINSZ, &size) < 0) throw failure("resizing a terminal");
}

void PtySession::write(std::string_view data) {
    if (input_.size() + data.size() > input_limit) throw Error(ENOSPC, "the program does not read what is typed");
    input_ += data;
    while (!input_.empty()) {
        auto size = ::write(master_.get(), input_.data(), input_.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) break;
        input_.erase(0, static_cast<std::size_t>(size));
    }
    if (watcher_) watch();
}

void PtySession::disconnect(const Request& request) {
    if (!client_ || !client_->same_sender(request)) return;
    client_->end();
    client_.reset();
}

} // namespace flux::shell
