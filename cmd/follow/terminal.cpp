#include "cmd/follow/terminal.hpp"

#include "cmd/follow/standard_input.hpp"

#include <flux/base64.hpp>
#include <flux/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace flux::follow {
namespace {

constexpr int default_rows = 25, default_columns = 80;

Json window_size() {
    winsize size{};
    if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
        return Json::object("rows", default_rows, "cols", default_columns);
    return Json::object("rows", size.ws_row, "cols", size.ws_col);
}

Json attach_message() { return Json::object("type", "attach", "mode", "rw", "winsize", window_size()); }

} // namespace

Terminal::Terminal(Handle& handle, Scope& scope, std::string topic, std::uint32_t rank)
    : handle_(handle),
      input_(scope),
      topic_(std::move(topic)),
      rank_(rank),
      stream_(handle.stream(topic_, attach_message(), CallOptions().rank(rank))) {}

Terminal::~Terminal() {
    if (raw_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
}

Task<> Terminal::attach() {
    auto answer = co_await stream_.next();
    if (!answer || answer->json().get<std::string_view>("type") != "attach")
        throw Error(EPROTO, "the terminal does not answer as expected");
}

void Terminal::make_raw() {
    if (::tcgetattr(STDIN_FILENO, &saved_) < 0) return; // no terminal
    auto settings = saved_;
    ::cfmakeraw(&settings);
    raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) == 0;
}

Task<> Terminal::run() {
    make_raw();
    auto on_resize = [this](int) { send(Json::object("type", "resize", "winsize", window_size())); };
    resized_ = std::make_unique<SignalWatcher>(handle_.loop(), SIGWINCH, on_resize);
    input_.spawn("terminal input", &Terminal::feed, this);
    while (auto answer = co_await stream_.next()) {
        auto message = answer->json();
        if (message.get<std::string_view>("type") != "data") continue;
        auto data = message.get<std::string_view>("data");
        auto bytes =
            message.get_or<std::string_view>("encoding", "UTF-8") == "base64" ? base64_decode(data) : std::string(data);
        std::fwrite(bytes.data(), 1, bytes.size(), stdout);
        std::fflush(stdout);
    }
    co_await input_.close();
}

Task<> Terminal::feed(Terminal* self) {
    StandardInput input(self->handle_.loop());
    for (;;) {
        auto bytes = co_await input.read();
        if (bytes.empty()) co_return;
        auto message = Json::object("type", "data");
        try {
            message.set("data", bytes);
        } catch (const Error&) { // not UTF-8
            message.set("data", base64_encode(bytes));
            message.set("encoding", "base64");
        }
        self->send(std::move(message));
    }
}

void Terminal::send(Json message) {
    // That the task has ended is told by the stream.
    handle_.call(topic_, std::move(message), CallOptions().rank(rank_)).then([](const Message&) {});
}

} // namespace flux::follow
