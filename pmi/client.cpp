#include <flux/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <pmi/client.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace flux::pmi {

namespace {

/// A server of another make may announce larger values than ours; more than this is not believed.
constexpr std::size_t announced_max = 1 << 20;

std::string label(std::string_view command) { return "PMI " + std::string(command); }

unsigned environment_number(const char* name) {
    const char* text = ::getenv(name);
    if (!text) throw Error(EINVAL, std::string("PMI: ") + name + " is not set");
    const std::string_view digits(text);
    unsigned value = 0;
    const auto [end, failure] = std::from_chars(digits.begin(), digits.end(), value);
    if (failure != std::errc{} || end != digits.end() || value > INT32_MAX)
        throw Error(EINVAL, std::string("PMI: ") + name + "='" + text + "' is no number");
    return value;
}

std::size_t announced(const Line& line, std::string_view key) {
    const auto value = line.get_int(key);
    if (value <= 0 || static_cast<std::size_t>(value) > announced_max)
        throw Error(EPROTO, std::string(key) + "=" + std::to_string(value) + " is out of range");
    return static_cast<std::size_t>(value);
}

void check_length(std::string_view command, const char* what, std::size_t length, std::size_t limit) {
    if (length >= limit)
        throw Error(EINVAL, label(command) + ": " + what + " of " + std::to_string(length) + " bytes is longer than " +
                                std::to_string(limit - 1));
}

void check_key(std::string_view command, std::string_view key, std::size_t limit) {
    check_length(command, "key", key.size(), limit);
    if (key.empty() || key.find_first_of(" \n") != key.npos)
        throw Error(EINVAL, label(command) + ": key '" + std::string(key) + "' is empty or contains white space");
}

} // namespace

Client::Client(int fd, unsigned rank, unsigned size) : fd_(fd), rank_(rank), size_(size), kvsname_() {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        const int errnum = errno;
        throw Error(errnum, "PMI: descriptor " + std::to_string(fd) + ": " + errno_text(errnum));
    }
}

Client Client::from_environment() {
    if (!::getenv("PMI_FD")) return Client();
    const auto fd = environment_number("PMI_FD");
    const auto rank = environment_number("PMI_RANK");
    const auto size = environment_number("PMI_SIZE");
    if (rank >= size)
        throw Error(EINVAL, "PMI: PMI_RANK=" + std::to_string(rank) + " is not below PMI_SIZE=" + std::to_string(size));
    return Client(static_cast<int>(fd), rank, size);
}

Client::Client(Client&& other) noexcept { *this = std::move(other); }

Client& Client::operator=(Client&& other) noexcept {
    if (this == &other) return *this;
    close();
    fd_ = std::exchange(other.fd_, -1);
    closed_ = std::exchange(other.closed_, true);
    rank_ = other.rank_;
    size_ = other.size_;
    kvsname_ = std::move(other.kvsname_);
    limits_ = other.limits_;
    input_ = std::move(other.input_);
    own_ = std::move(other.own_);
    return *this;
}

Client::~Client() { close(); }

void Client::close() noexcept {
    if (fd_ < 0) return;
    ::close(std::exchange(fd_, -1));
    closed_ = true;
}

template <class Take>
auto Client::ask(std::string_view command, const std::string& line, std::string_view answer, Take take) {
    try {
        send(line);
        const auto text = receive();
        const Line reply(text);
        if (reply.get("cmd") != answer)
            throw Error(EPROTO, "unexpected answer '" + std::string(reply.get("cmd")) + "'");
        const auto code = reply.find("rc") ? reply.get_int("rc") : success;
        if (code == invalid_key) throw Error(ENOENT, "no such key");
        if (code != success) {
            auto reason = std::string("server answers ") + code_name(code) + " (" + std::to_string(code) + ")";
            if (const auto more = reply.find("msg")) reason += ": " + std::string(*more);
            throw Error(EIO, reason);
        }
        return take(reply);
    } catch (const Error& error) {
        throw error.while_doing(label(command));
    }
}

void Client::init() {
    if (singleton()) return;
    ask("init", "cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");

    ask("get_maxes", "cmd=get_maxes", "maxes", [this](const Line& line) {
        limits_.kvsname = announced(line, "kvsname_max");
        limits_.key = announced(line, "keylen_max");
        limits_.value = announced(line, "vallen_max");
    });
    input_.set_line_max(default_line_max + limits_.value);
    kvsname_ = ask("get_my_kvsname", "cmd=get_my_kvsname", "my_kvsname",
                   [](const Line& line) { return std::string(line.get("kvsname")); });
}

void Client::put(std::string_view key, std::string_view value) {
    check_key("put", key, limits_.key);
    check_length("put", "value", value.size(), limits_.value);
    if (value.find('\n') != value.npos)
        throw Error(EINVAL, "PMI put: value of key '" + std::string(key) + "' contains a newline");
    if (singleton()) {
        own_.insert_or_assign(std::string(key), std::string(value));
        return;
    }
    const std::string name(key);
    ask("put " + name, "cmd=put kvsname=" + kvsname_ + " key=" + name + " value=" + std::string(value), "put_result");
}

std::string Client::get(std::string_view key) {
    if (auto value = find(key)) return *std::move(value);
    throw Error(ENOENT, "PMI get " + std::string(key) + ": no such key");
}

std::optional<std::string> Client::find(std::string_view key) {
    check_key("get", key, limits_.key);
    if (singleton()) {
        const auto found = own_.find(key);
        if (found == own_.end()) return std::nullopt;
        return found->second;
    }
    const auto take = [](const Line& line) {
        // MPICH's server says ` msg=success` before the value, and ` found=TRUE` after it.
        constexpr std::string_view begin = " value=", mpich_tail = " found=TRUE";
        const auto at = line.text().find(begin);
        auto value = at == std::string_view::npos ? line.get("value") : line.text().substr(at + begin.size());
        if (value.ends_with(mpich_tail)) value.remove_suffix(mpich_tail.size());
        return std::string(value);
    };
    const std::string name(key);
    try {
        return ask("get " + name, "cmd=get kvsname=" + kvsname_ + " key=" + name, "get_result", take);
    } catch (const Error& error) {
        // MPICH's server has no code of its own for a missing key.
        if (error.errnum() == ENOENT || error.errnum() == EIO) return std::nullopt;
        throw;
    }
}

void Client::barrier() {
    if (!singleton()) ask("barrier", "cmd=barrier_in", "barrier_out");
}

int Client::appnum() {
    if (singleton()) return 0;
    return ask("get_appnum", "cmd=get_appnum", "appnum", [](const Line& line) { return line.get_int("appnum"); });
}

unsigned Client::universe_size() {
    if (singleton()) return 1;
    return ask("get_universe_size", "cmd=get_universe_size", "universe_size", [](const Line& line) {
        const auto size = line.get_int("size");
        if (size < 0) throw Error(EPROTO, "size=" + std::to_string(size) + " is out of range");
        return static_cast<unsigned>(size);
    });
}

void Client::abort(int exit_code, std::string_view text) {
    if (singleton()) return;
    std::string line(text.substr(0, limits_.value));
    std::replace(line.begin(), line.end(), '\n', ' ');
    try {
        send("cmd=abort exitcode=" + std::to_string(exit_code) + " error_msg=" + line);
    } catch (const Error& error) {
        throw error.while_doing(label("abort"));
    }
}

void Client::finalize() {
    if (singleton()) return;
    ask("finalize", "cmd=finalize", "finalize_ack");
    close();
}

void Client::ask(std::string_view command, const std::string& line, std::string_view answer) {
    ask(command, line, answer, [](const Line&) {});
}

void Client::send(const std::string& line) {
    const auto bytes = line + '\n';
    std::string_view rest = bytes;
    while (!rest.empty()) {
        // A server that is gone is an error here, not a signal.
        const auto sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent >= 0)
            rest.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EAGAIN)
            wait(POLLOUT);
        else if (errno != EINTR)
            throw Error(errno);
    }
}

std::string Client::receive() {
    std::array<char, 4096> buffer;
    for (;;) {
        if (auto line = input_.next()) return *std::move(line);
        const auto count = ::read(fd_, buffer.data(), buffer.size());
        if (count > 0)
            input_.append({buffer.data(), static_cast<std::size_t>(count)});
        else if (count == 0)
            throw Error(ECONNRESET, "server closed the connection");
        else if (errno == EAGAIN)
            wait(POLLIN);
        else if (errno != EINTR)
            throw Error(errno);
    }
}

void Client::wait(short events) {
    struct pollfd ready = {fd_, events, 0};
    if (::poll(&ready, 1, -1) < 0 && errno != EINTR) throw Error(errno);
}

} // namespace flux::pmi
