// The parent of the processes of one rank that must outlive a module or the broker. One thread, epoll, nothing durable
// but itself. Life: README.md.
#pragma once

#include "client_connection.hpp"

#include <flux/spawn.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>

namespace flux::launcher {

class Launcher {
public:
    using Clock = std::chrono::steady_clock;

    /// \param listener        the listening socket, bound to `path`.
    /// \param client_timeout  end all processes when no client was there for so long; nothing: never.
    Launcher(FileDescriptor listener, std::string path, std::optional<Clock::duration> client_timeout);
    /// Until there is nothing to do any more. \return errno of what made it impossible, or 0.
    int run();

private:
    struct Process {
        pid_t pid = -1;
        std::uint64_t start_time = 0;
        std::uint32_t flags = 0;
        std::string label;
        std::string note;
        std::vector<launcher_protocol::StreamKind> streams;
        std::vector<FileDescriptor> ours; ///< by stream; not set: none, or closed
        bool ended = false;
        bool forgotten = false;   ///< dropped when it ends
        bool group_alive = false; ///< the leader has ended, others of its group have not
        int status = 0;

        bool leads_group() const noexcept { return flags & launcher_protocol::process_group; }
    };
    /// How far the end of everything is.
    enum class Ending { no, asked, forced };

    int set_up();
    int wait_and_handle();
    int milliseconds_to_deadline() const;
    bool done() const;
    /// No client for so long that what only a client wants need not be kept.
    bool is_deserted() const;
    bool is_our_socket() const;

    void accept_client();
    void client_left();
    void watch_client();
    void on_client(std::uint32_t events);
    void on_signal();
    void on_directory();
    void on_deadline();

    void handle(launcher_protocol::Packet& packet);
    void hello();
    void start(launcher_protocol::Packet& packet);
    void kill(std::uint64_t id, int signum);
    void forget(std::uint64_t id);
    void list();

    void reap();
    void on_ended(std::map<std::uint64_t, Process>::iterator entry, int status);
    void end_orphans();
    void look_for_empty_groups();
    void drop_unwanted();
    void end_all(Ending how);

    FileDescriptor listener_;
    std::string path_;
    std::optional<Clock::duration> client_timeout_;
    struct stat socket_file_ {};
    rlimit file_limit_{}; ///< what children get: ours is higher

    FileDescriptor epoll_;
    FileDescriptor signals_;
    FileDescriptor directory_;
    ClientConnection client_;
    std::map<std::uint64_t, Process> processes_;
    std::map<pid_t, std::uint64_t> running_;
    std::set<pid_t> fallen_sessions_; ///< whose leader was killed
    std::uint64_t next_id_ = 1;
    bool has_children_ = false; ///< of ours or inherited from ended ones
    Ending ending_ = Ending::no;
    std::optional<Clock::time_point> client_gone_; ///< since when there is none
    Clock::time_point deadline_ = Clock::time_point::max();
};

} // namespace flux::launcher
