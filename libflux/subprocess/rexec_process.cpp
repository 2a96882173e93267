#include "libflux/subprocess/rexec_process.hpp"

#include <flux/base64.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <sys/wait.h>

namespace flux {

using namespace rexec_protocol;

namespace {

/// What a waitable process keeps of its output for whoever waits.
constexpr std::size_t recent_limit = 8192;

constexpr const char* standard_streams[] = {"stdin", "stdout", "stderr"};

Json encode_all(const std::map<std::string, std::string>& values) {
    auto json = Json::object();
    for (const auto& [name, value] : values) json.set(name, base64_encode(value));
    return json;
}

} // namespace

RexecProcess::RexecProcess(Loop& loop, const Environment& environment, RemoteCommand command, int flags,
                           bool background)
    : environment_(environment),
      command_(std::move(command)),
      command_json_(command_.encode()),
      flags_(flags),
      background_(background),
      streams_(std::begin(standard_streams), std::end(standard_streams)),
      io_(
          loop, [this](const std::string& stream, std::string_view data) { on_output(stream, data); },
          [this](const std::string& stream, std::size_t bytes) { on_consumed(stream, bytes); }) {
    streams_.insert(streams_.end(), command_.channels.begin(), command_.channels.end());
}

HostedStart RexecProcess::start_request(bool process_group, std::vector<FileDescriptor> stdio) {
    using Kind = HostedStart::StreamKind;
    HostedStart request;
    request.command = command_.command;
    auto& command = request.command;
    if (command.env.empty()) command.env = current_environment();
    for (const char* name : {"FLUX_PROXY_REMOTE", "NOTIFY_SOCKET", "INVOCATION_ID"}) command.unsetenv(name);
    command.setenv("FLUX_URI", environment_.local_uri);
    command.fallback_cwd = "/tmp";
    command.process_group = process_group;
    auto output = [&](Flag flag) { return background_ || flags_ & flag ? Kind::output : Kind::null; };
    if (stdio.empty())
        request.streams = {background_ ? Kind::null : Kind::input, output(forward_stdout), output(forward_stderr)};
    else
        request.streams.assign(3, Kind::given);
    request.given = std::move(stdio);
    for (const auto& channel : command_.channels) {
        command.setenv(channel, std::to_string(request.streams.size()));
        request.streams.push_back(Kind::channel);
    }
    request.label = command_.label;
    request.note = note();
    request.keep_status = background_ && flags_ & waitable;
    return request;
}

void RexecProcess::open_streams(HostedProcess& process) {
    process.fds.resize(streams_.size());
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        const auto& name = streams_[i];
        auto& fd = process.fds[i];
        if (!fd) continue;
        auto size = command_.buffer_size(name);
        if (i == 0)
            io_.add_writer(name, std::move(fd), size);
        else if (i < 3)
            io_.add_reader(name, std::move(fd), command_.read_mode(name), size);
        else
            io_.add_channel(name, std::move(fd), command_.read_mode(name), size);
        if (i != 0) open_outputs_.insert(name);
        if (io_.writer(name)) room_[name] = size;
    }
}

// From the host -------------------------------------------------------------------------------------------------

void RexecProcess::on_started(HostedProcess process) {
    state_ = State::running;
    pid_ = process.pid;
    open_streams(process);
    tell_started();
    for (const auto& io : std::exchange(early_, {})) write(io);
}

void RexecProcess::tell_started() {
    started_told_ = true;
    auto& request = background_ ? starter_ : client_;
    if (!request) return;
    request.respond(Json::object("type", "started", "pid", pid_));
    starter_ = {};
    if (!client_ || !(flags_ & write_credit) || room_.empty()) return;
    auto credit = Json::object();
    for (const auto& [name, size] : room_) credit.set(name, size);
    client_.respond(Json::object("type", "add-credit", "channels", std::move(credit)));
}

void RexecProcess::on_failed(int errnum) {
    fail(Error(errnum, "error launching process: " + errno_text(errnum)));
    retire();
}

void RexecProcess::on_stopped() {
    if (client_) client_.respond(Json::object("type", "stopped"));
}

void RexecProcess::on_exited(int status) {
    state_ = State::ended;
    status_ = status;
    if (!waiting_) see_end();
}

void RexecProcess::see_end() {
    if (background_ && !end_seen_) log_end();
    end_seen_ = true;
    if (!finished_told_) tell_finished();
    check_complete();
}

void RexecProcess::tell_finished() {
    if (!client_) return;
    finished_told_ = true;
    client_.respond(Json::object("type", "finished", "status", status_));
}

void RexecProcess::on_lost(const Error& error) {
    if (state_ == State::ended) return;
    auto text = fmt::format("{}: process {} ended with unknown status", error.what(), pid_);
    if (background_) environment_.log(LogLevel::err, text);
    fail(Error(EIO, text));
    retire();
}

void RexecProcess::fail(const Error& error) {
    for (auto* request : {&client_, &starter_, &waiter_}) {
        if (*request) request->fail(error);
        *request = {};
    }
}

// Streams -------------------------------------------------------------------------------------------------------

bool RexecProcess::forwards(const std::string& stream) const noexcept {
    if (stream == "stdout") return flags_ & forward_stdout;
    if (stream == "stderr") return flags_ & forward_stderr;
    return flags_ & forward_channels;
}

void RexecProcess::on_output(const std::string& stream, std::string_view data) {
    if (data.empty()) open_outputs_.erase(stream);
    if (client_ && forwards(stream))
        send_output(stream, data);
    else if (background_ && !client_ && !data.empty())
        environment_.log(stream == "stderr" ? LogLevel::err : LogLevel::info,
                         fmt::format("{}[{}]: {}", log_name(), pid_, data));
    if (flags_ & waitable && !data.empty()) remember(stream, data);
    if (data.empty()) check_complete();
}

void RexecProcess::send_output(const std::string& stream, std::string_view data) {
    auto io = IoData::encode(stream, environment_.rank, data, data.empty());
    client_.respond(Json::object("type", "output", "pid", pid_, "io", std::move(io)));
}

void RexecProcess::remember(const std::string& stream, std::string_view data) {
    recent_.push_back(IoData::encode(stream, environment_.rank, data));
    recent_size_ += data.size();
    while (recent_size_ > recent_limit && recent_.size() > 1) {
        recent_size_ -= IoData::decode(recent_.front()).data.size();
        recent_.pop_front();
    }
}

void RexecProcess::write(const IoData& io) {
    if (state_ == State::starting) {
        early_size_ += io.data.size();
        if (early_size_ > default_pipe_limit) throw Error(ENOSPC, "too much input before the start");
        early_.push_back(io);
        return;
    }
    auto* writer = io_.writer(io.stream);
    if (!writer || writer->closed()) { // of a process that does not take input (any more)
        if (!io.data.empty()) give_credit(io.stream, io.data.size());
        return;
    }
    if (!io.data.empty()) {
        auto& room = room_[io.stream];
        if (io.data.size() > room)
            throw Error(EOVERFLOW,
                        fmt::format("{}: {} bytes written with a credit of {}", io.stream, io.data.size(), room));
        room -= io.data.size();
        io_.write(io.stream, io.data);
    }
    if (io.eof) {
        io_.close(io.stream);
        close_if_drained(io.stream);
    }
}

void RexecProcess::on_consumed(const std::string& stream, std::size_t bytes) {
    room_[stream] += bytes;
    give_credit(stream, bytes);
    close_if_drained(stream);
}

void RexecProcess::give_credit(const std::string& stream, std::size_t bytes) {
    if (client_ && flags_ & write_credit)
        client_.respond(Json::object("type", "add-credit", "channels", Json::object(stream, bytes)));
}

// The host keeps our end of stdin too: the process sees the end when that is closed as well.
void RexecProcess::close_if_drained(const std::string& stream) {
    auto* writer = io_.writer(stream);
    if (stream == standard_streams[0] && writer && writer->closed() && writer->pending().empty())
        host_->close_stream(id_, 0);
}

// Log -----------------------------------------------------------------------------------------------------------

std::string RexecProcess::log_name() const {
    if (!command_.label.empty()) return command_.label;
    const auto& program = command_.command.argv[0];
    return program.substr(program.rfind('/') + 1);
}

void RexecProcess::log_end() const {
    auto prefix = command_.label.empty() ? std::string() : command_.label + ": ";
    auto what = WIFSIGNALED(status_) ? fmt::format("Killed by signal {}", WTERMSIG(status_))
                                     : fmt::format("Exit {}", WEXITSTATUS(status_));
    environment_.log(LogLevel::info, fmt::format("{}{}[{}]: {}", prefix, name(), pid_, what));
}

// Clients -------------------------------------------------------------------------------------------------------

void RexecProcess::set_part(Part part, Request request) {
    switch (part) {
    case Part::client: client_ = std::move(request); return;
    case Part::starter: starter_ = std::move(request); return;
    case Part::waiter: waiter_ = std::move(request); return;
    case Part::none: return;
    }
}

RexecProcess::Part RexecProcess::part_of(const Request& request) const noexcept {
    auto is = [&](const Request& mine) {
        return mine && mine.matchtag() == request.matchtag() && mine.same_sender(request);
    };
    if (is(client_)) return Part::client;
    if (is(starter_)) return Part::starter;
    if (is(waiter_)) return Part::waiter;
    return Part::none;
}

void RexecProcess::wait(Request request) {
    if (!background_ || !(flags_ & waitable)) throw Error(EINVAL, "process is not waitable");
    if (waiter_) throw Error(EINVAL, "process is already being waited on");
    if (client_) throw Error(EBUSY, "subprocess has a client attached");
    waiter_ = std::move(request);
    check_complete();
}

void RexecProcess::attach(Request request, int flags) {
    if (!background_) throw Error(EBUSY, "subprocess is not in background mode");
    if (client_) throw Error(EBUSY, "subprocess already has a client attached");
    if (waiter_) throw Error(EBUSY, "subprocess is being waited on");
    client_ = std::move(request);
    flags_ = (flags_ & waitable) | flags;
    client_.respond(Json::object("type", "attached", "pid", pid_, "cmd", command_json_.copy()));
    for (const char* stream : {"stdout", "stderr"}) {
        if (forwards(stream) && !open_outputs_.contains(stream)) send_output(stream, {});
    }
    if (state_ == State::ended) tell_finished();
    check_complete();
}

void RexecProcess::check_complete() {
    if (state_ != State::ended) return;
    if (client_) {
        for (const auto& stream : open_outputs_) {
            if (forwards(stream)) return;
        }
        client_.end();
        client_ = {};
        return retire();
    }
    if (!background_) return retire();
    if (!open_outputs_.empty()) return;
    if (!(flags_ & waitable)) return retire();
    if (!waiter_) return;
    auto answer = Json::object("status", status_);
    auto output = Json::array();
    for (const auto& io : recent_) output.append(io.copy());
    if (!output.empty()) answer.set("output", std::move(output));
    bool keep = waiter_.json().get_or("keep", false);
    waiter_.respond(std::move(answer));
    waiter_ = {};
    if (!keep) retire();
}

void RexecProcess::forget() {
    if (!background_ || state_ != State::ended || client_ || waiter_) throw Error(EBUSY, "process is in use");
    retire();
}

void RexecProcess::retire() {
    if (state_ == State::retired) return;
    state_ = State::retired;
    io_.pause_all();
    host_->forget(id_);
    environment_.retire(*this);
}

// Reload --------------------------------------------------------------------------------------------------------

std::string RexecProcess::note() const {
    auto json = Json::object("cmd", command_json_.copy(), "flags", flags_, "background", background_);
    if (state_ == State::starting) return json.dump();
    auto ended = Json::array(), closed = Json::array(), recent = Json::array();
    std::map<std::string, std::string> unread, unwritten;
    auto room = Json::object();
    for (const auto& name : streams_) {
        auto* reader = io_.reader(name);
        auto* writer = io_.writer(name);
        if (reader && !open_outputs_.contains(name)) ended.append(name);
        if (reader) unread[name] = reader->pending();
        if (writer) unwritten[name] = writer->pending();
        if (writer && writer->closed()) closed.append(name);
        if (writer) room.set(name, room_.at(name));
    }
    for (const auto& io : recent_) recent.append(io.copy());
    json.set("progress",
             Json::object("started", started_told_, "finished", finished_told_, "end-seen", end_seen_, "ended",
                          std::move(ended), "closed", std::move(closed), "unread", encode_all(unread), "unwritten",
                          encode_all(unwritten), "room", std::move(room), "recent", std::move(recent)));
    return json.dump();
}

std::unique_ptr<RexecProcess> RexecProcess::restore(Loop& loop, const Environment& environment, ProcessHost& host,
                                                    HostedProcess process) {
    auto note = Json::parse(process.note, fmt::format("note of process {}", process.pid));
    auto command = RemoteCommand::decode(note["cmd"]);
    auto result = std::make_unique<RexecProcess>(loop, environment, std::move(command), note.get<int>("flags"),
                                                 note.get<bool>("background"));
    result->set_host(host, process.id);
    result->pid_ = process.pid;
    result->state_ = process.status ? State::ended : State::running;
    result->status_ = process.status.value_or(0);
    result->open_streams(process);
    result->pause();
    result->waiting_ = true;
    if (note["progress"]) result->restore_streams(note["progress"]);
    return result;
}

void RexecProcess::restore_streams(JsonView progress) {
    started_told_ = progress.get<bool>("started");
    finished_told_ = progress.get<bool>("finished");
    end_seen_ = progress.get<bool>("end-seen");
    for (auto name : progress["ended"].elements()) {
        auto stream = name.as<std::string>();
        io_.drop_reader(stream);
        open_outputs_.erase(stream);
    }
    for (auto [name, text] : progress["unread"].members()) {
        if (auto* reader = io_.reader(std::string(name))) reader->unread(base64_decode(text.as<std::string_view>()));
    }
    for (auto [name, text] : progress["unwritten"].members()) {
        IoData io;
        io.stream = name;
        io.data = base64_decode(text.as<std::string_view>());
        unwritten_.push_back(std::move(io));
    }
    for (auto [name, size] : progress["room"].members()) room_[std::string(name)] = size.as<std::size_t>();
    for (auto name : progress["closed"].elements()) {
        IoData io;
        io.stream = name.as<std::string>();
        io.eof = true;
        unwritten_.push_back(std::move(io));
    }
    for (auto io : progress["recent"].elements()) {
        recent_size_ += IoData::decode(io).data.size();
        recent_.push_back(io.copy());
    }
}

void RexecProcess::go_on() {
    waiting_ = false;
    if (state_ == State::starting || state_ == State::retired) return;
    if (!started_told_ || starter_) tell_started();
    auto unwritten = std::exchange(unwritten_, {});
    // What was consumed while nobody could tell is told now.
    for (const auto& [name, room] : std::map(room_)) {
        auto owed = command_.buffer_size(name) - room;
        for (const auto& io : unwritten) owed -= io.stream == name ? io.data.size() : 0;
        if (owed > 0) on_consumed(name, owed);
    }
    for (const auto& io : unwritten) {
        auto* writer = io_.writer(io.stream);
        if (!writer) continue;
        if (!io.data.empty()) writer->write(io.data);
        if (io.eof) writer->close();
        close_if_drained(io.stream);
    }
    io_.resume_all();
    if (state_ == State::ended) see_end();
}

} // namespace flux
