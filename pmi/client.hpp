// The client side of PMI-1: a blocking conversation over the socket in PMI_FD. A broker uses it before its loop runs,
// libpmi and libpmi2 inside MPI programs. Without PMI_FD the process is a singleton and answers itself.
#pragma once

#include <map>
#include <optional>
#include <pmi/wire.hpp>
#include <string>
#include <string_view>

namespace flux::pmi {

class Client {
public:
    /// Takes over a connected stream socket (closed at the end, not inherited by programs that are started).
    Client(int fd, unsigned rank, unsigned size);
    /// A job of one process that needs no server.
    Client() = default;
    /// By PMI_FD, PMI_RANK and PMI_SIZE; a singleton when PMI_FD is not set.
    /// \throws Error EINVAL when a variable is missing or malformed.
    static Client from_environment();
    Client(Client&& other) noexcept;
    Client& operator=(Client&& other) noexcept;
    ~Client();

    // Each of these throws Error naming the PMI command: EPROTO for an answer that cannot be understood, ECONNRESET
    // when the server closed the connection, EIO with the result code for a refusal, EINVAL for arguments that cannot
    // be sent.

    /// Agree on the version and learn limits and kvsname. Must come first.
    void init();
    void put(std::string_view key, std::string_view value);
    /// \throws Error ENOENT when nobody has put the key.
    std::string get(std::string_view key);
    /// Nothing when nobody has put the key.
    std::optional<std::string> find(std::string_view key);
    /// Wait for all processes of the job; what they put before is visible after.
    void barrier();
    int appnum();
    unsigned universe_size();
    /// Ask for the end of the whole job. Returns once the request is sent: the caller must exit.
    void abort(int exit_code, std::string_view text);
    void finalize();

    bool singleton() const noexcept { return fd_ < 0 && !closed_; }
    unsigned rank() const noexcept { return rank_; }
    unsigned size() const noexcept { return size_; }
    const std::string& kvsname() const noexcept { return kvsname_; }
    /// As the server announced them.
    const Limits& limits() const noexcept { return limits_; }

private:
    /// Send a command, read its answer and take what is wanted from it.
    /// \param command  for error texts.
    /// \param answer   the `cmd=` that must come back.
    /// \param take     called with the answer's Line.
    template <class Take>
    auto ask(std::string_view command, const std::string& line, std::string_view answer, Take take);
    void ask(std::string_view command, const std::string& line, std::string_view answer);
    void send(const std::string& line);
    std::string receive();
    void wait(short events);
    void close() noexcept;

    int fd_ = -1;
    bool closed_ = false;
    unsigned rank_ = 0;
    unsigned size_ = 1;
    std::string kvsname_ = "singleton";
    Limits limits_;
    LineBuffer input_;
    std::map<std::string, std::string, std::less<>> own_; // of a singleton
};

} // namespace flux::pmi
