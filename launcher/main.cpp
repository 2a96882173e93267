// flux-launcher [--client-timeout=SECONDS] SOCKET-PATH, with the listening socket as descriptor 3.
#include "launcher.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <sys/socket.h>

namespace {

constexpr int listener_fd = 3;

int usage() {
    std::fputs("Usage: flux-launcher [--client-timeout=SECONDS] SOCKET-PATH 3<LISTENING-SOCKET\n"
               "The rexec module starts this program; it is of no use by itself.\n",
               stderr);
    return 2;
}

bool is_listening(int fd) {
    int listening = 0;
    socklen_t size = sizeof listening;
    return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening;
}

} // namespace

int main(int argc, char** argv) {
    std::optional<flux::launcher::Launcher::Clock::duration> client_timeout;
    constexpr std::string_view option = "--client-timeout=";
    int position = 1;
    if (std::string_view argument = argc > position ? argv[position] : ""; argument.starts_with(option)) {
        unsigned seconds = 0;
        argument.remove_prefix(option.size());
        auto [end, error] = std::from_chars(argument.begin(), argument.end(), seconds);
        if (error != std::errc() || end != argument.end()) return usage();
        client_timeout = std::chrono::seconds(seconds);
        ++position;
    }
    if (argc != position + 1 || argv[position][0] != '/' || !is_listening(listener_fd)) return usage();

    // Not a child of the broker and not in its session: neither its end nor its terminal's signals are ours.
    pid_t pid = ::fork();
    if (pid != 0) return pid < 0 ? 1 : 0;
    ::setsid();
    if (::chdir("/") < 0) return 1;
    flux::launcher::Launcher launcher(flux::FileDescriptor(listener_fd), argv[position], client_timeout);
    if (int errnum = launcher.run()) {
        std::fprintf(stderr, "flux-launcher: %s\n", std::strerror(errnum));
        return 1;
    }
    return 0;
}
