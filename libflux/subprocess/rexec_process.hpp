// One process of a RexecServer, from the request to start it until nobody wants to know of it any more.
#pragma once

#include <flux/handle.hpp>
#include <flux/io_data.hpp>
#include <flux/process_host.hpp>
#include <flux/process_streams.hpp>
#include <flux/remote_command.hpp>
#include <flux/rexec_protocol.hpp>

#include <deque>
#include <set>

namespace flux {

class RexecProcess {
public:
    /// What a process needs of its server.
    class Environment {
    public:
        Environment() {}
        std::string rank;
        std::string local_uri;
        std::function<void(LogLevel, const std::string&)> log;
        /// Nothing is to be known of it any more. It is destroyed later.
        std::function<void(RexecProcess&)> retire;
    };
    enum class State { starting, running, ended, retired };
    /// What a request is to a process.
    enum class Part { none, client, starter, waiter };

    RexecProcess(Loop& loop, const Environment& environment, RemoteCommand command, int flags, bool background);
    /// One that the host has kept from an earlier server, with its note. Nothing is read until go_on().
    static std::unique_ptr<RexecProcess> restore(Loop& loop, const Environment& environment, ProcessHost& host,
                                                 HostedProcess process);

    /// What to ask the host for. \param stdio  not empty: the descriptors that it gets as they are.
    HostedStart start_request(bool process_group, std::vector<FileDescriptor> stdio);
    void set_host(ProcessHost& host, std::uint64_t id) noexcept { host_ = &host, id_ = id; }

    std::uint64_t id() const noexcept { return id_; }
    pid_t pid() const noexcept { return pid_; }
    State state() const noexcept { return state_; }
    const std::string& label() const noexcept { return command_.label; }
    std::string name() const { return command_.name(); }
    bool background() const noexcept { return background_; }
    /// Nobody can be told of it any more.
    bool abandoned() const noexcept { return !background_ && !client_; }

    // From the host
    void on_started(HostedProcess process);
    void on_failed(int errnum);
    void on_stopped();
    void on_exited(int status);
    void on_lost(const Error& error);

    // From clients
    void set_part(Part part, Request request);
    Part part_of(const Request& request) const noexcept;
    /// \throws Error EBUSY, EINVAL
    void wait(Request request);
    /// Of one that has ended. \throws Error EBUSY
    void forget();
    /// \throws Error EBUSY
    void attach(Request request, int flags);
    /// \throws Error when the client broke the rules; the process must be killed.
    void write(const IoData& io);
    bool is_client(std::uint32_t matchtag, const Request& sender) const noexcept {
        return client_ && client_.matchtag() == matchtag && client_.same_sender(sender);
    }
    /// Forget the requests that are `unwanted(request)`: whoever made them is gone. \return whether there were any.
    template <class F> bool drop_if(F&& unwanted) {
        bool any = false;
        for (auto* request : {&client_, &starter_, &waiter_}) {
            if (!*request || !unwanted(*request)) continue;
            request->drop();
            *request = {};
            any = true;
        }
        if (any && abandoned() && state_ == State::ended) retire();
        return any;
    }
    /// End the client's request with an error.
    void fail(const Error& error);

    // Reload
    void pause() noexcept { io_.pause_all(); }
    /// How far everything has come, for restore().
    std::string note() const;
    /// Go on reading, with whatever client there is now.
    void go_on();

private:
    void open_streams(HostedProcess& process);
    void restore_streams(JsonView note);
    void on_output(const std::string& stream, std::string_view data);
    void on_consumed(const std::string& stream, std::size_t bytes);
    void give_credit(const std::string& stream, std::size_t bytes);
    void close_if_drained(const std::string& stream);
    void tell_started();
    void tell_finished();
    void see_end();
    void send_output(const std::string& stream, std::string_view data);
    void log_end() const;
    void remember(const std::string& stream, std::string_view data);
    bool forwards(const std::string& stream) const noexcept;
    void check_complete();
    void retire();
    std::string log_name() const;

    Environment environment_;
    RemoteCommand command_;
    Json command_json_;
    int flags_;
    bool background_;
    ProcessHost* host_ = nullptr;
    std::uint64_t id_ = 0;
    pid_t pid_ = 0;
    State state_ = State::starting;
    int status_ = 0;
    bool started_told_ = false;
    bool finished_told_ = false;
    bool end_seen_ = false; ///< and logged
    bool waiting_ = false;  ///< restored, and not gone on yet

    Request client_;  ///< of exec in the foreground, or attached
    Request starter_; ///< of exec in the background, until it has started
    Request waiter_;
    std::vector<std::string> streams_;        ///< name by the child's descriptor
    std::set<std::string> open_outputs_;      ///< read, and their end not told
    std::map<std::string, std::size_t> room_; ///< by input: what the client may still send
    std::vector<IoData> early_;               ///< input that came before the process had started
    std::size_t early_size_ = 0;
    std::vector<IoData> unwritten_; ///< input that an earlier server had accepted
    std::deque<Json> recent_;       ///< last output of a waitable process
    std::size_t recent_size_ = 0;
    ProcessStreams io_;
};

} // namespace flux
