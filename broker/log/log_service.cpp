#include "broker/log/log_service.hpp"

#include <fmt/core.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <charconv>
#include <ctime>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::broker {
namespace {

int parse_level(const std::string& name, const std::string& text) {
    int level = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), level);
    if (failure != std::errc() || *end || level > 7)
        throw Error(EINVAL, fmt::format("{}: invalid level '{}'", name, text));
    return level;
}

void write_line(spdlog::sinks::sink& sink, const std::string& text,
                spdlog::level::level_enum level = spdlog::level::info) {
    sink.log(spdlog::details::log_msg(spdlog::source_loc(), "", level, text));
    sink.flush();
}

template <class Sink, class... A> std::shared_ptr<spdlog::sinks::sink> plain_sink(A&&... arguments) {
    auto sink = std::make_shared<Sink>(std::forward<A>(arguments)...);
    sink->set_pattern("%v");
    return sink;
}

} // namespace

LogService::LogService() : stderr_sink_(plain_sink<spdlog::sinks::stderr_sink_st>()) {}
LogService::~LogService() = default;

void LogService::configure(const Attributes& attributes) {
    auto level = [&](const char* name, int& into) {
        if (auto value = attributes.get(name)) into = parse_level(name, *value);
    };
    level("log-level", level_);
    level("log-stderr-level", stderr_level_);
    level("log-forward-level", forward_level_);
    level("log-critical-level", critical_level_);
    int ring = static_cast<int>(ring_size_);
    if (auto value = attributes.get("log-ring-size")) {
        auto [end, failure] = std::from_chars(value->data(), value->data() + value->size(), ring);
        if (failure != std::errc() || *end || ring < 0)
            throw Error(EINVAL, "log-ring-size: invalid size '" + *value + "'");
    }
    ring_size_ = static_cast<std::size_t>(ring);
    auto mode = attributes.get_or("log-stderr-mode", "leader");
    if (mode != "leader" && mode != "local") throw Error(EINVAL, "log-stderr-mode: must be leader or local");
    stderr_local_ = mode == "local";
    if (auto file = attributes.get("log-filename"); file && rank_ == 0) {
        auto previous = ::umask(077);
        try {
            file_sink_ = plain_sink<spdlog::sinks::basic_file_sink_st>(*file, false);
        } catch (const std::exception& error) {
            ::umask(previous);
            throw Error(EINVAL, fmt::format("log-filename: {}", error.what()));
        }
        ::umask(previous);
    }
    if (attributes.get_or("log-syslog-enable", "0") == "1") {
        syslog_level_ = 3;
        level("log-syslog-level", syslog_level_);
        syslog_sink_ = plain_sink<spdlog::sinks::syslog_sink_st>("flux", 0, LOG_USER, false);
        const passwd* user = ::getpwuid(::getuid());
        syslog_prefix_ = fmt::format("{}@{} ", user ? user->pw_name : std::to_string(::getuid()),
                                     attributes.get_or("jobid-path", "/"));
    }
}

void LogService::serve(Handle& handle) {
    handle_ = &handle;
    handle.serve(Method("log.append", MethodClass::once), [this](Request request) { on_append(request); });
    handle.serve(Method("log.dmesg", MethodClass::stream), [this](Request request) { on_dmesg(std::move(request)); });
    handle.serve(Method("log.cancel", MethodClass::once), [this](Request request) { followers_.cancel(request); });
    handle.serve(Method("log.disconnect", MethodClass::once),
                 [this](Request request) { followers_.disconnect(request); });
    handle.serve(Method("log.clear", MethodClass::once), [this](Request request) {
        ring_.clear();
        request.respond();
    });
    handle.serve(Method("log.setattr", MethodClass::once), [this](Request request) {
        auto name = request.json().get<std::string>("name");
        if (name != "log-stderr-level") throw Error(EINVAL, "unknown log attribute");
        auto value = request.json().get<std::string>("value");
        try {
            stderr_level_ = parse_level(name, value);
        } catch (const Error&) {
            throw Error(EINVAL, "invalid level");
        }
        request.respond();
    });
    handle.serve(Method("log.stats-get", MethodClass::read), [this](Request request) {
        request.respond(Json::object("ring-used", ring_.size(), "count", count_, "local", local_, "remote", remote_));
    });
}

void LogService::log(LogLevel level, std::string_view text) {
    while (!text.empty()) {
        LogRecord record;
        record.severity = static_cast<int>(level);
        record.timestamp = log_timestamp();
        record.rank = rank_;
        record.app = "broker";
        record.procid = std::to_string(::getpid());
        record.message = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), record.message.size() + 1));
        append(std::move(record));
    }
}

void LogService::on_append(const Request& request) {
    auto record = LogRecord::parse(request.message().payload.bytes());
    if (!record) throw Error(EPROTO, "log record cannot be parsed");
    // What a local program says is this rank's, whatever it believed when it had not asked yet.
    if (request.message().credentials.rolemask & role_local) record->rank = rank_;
    append(std::move(*record));
    if (request.matchtag() != matchtag_none)
        request.respond();
    else
        request.drop();
}

void LogService::append(LogRecord record) {
    ++count_;
    bool own = record.rank == rank_;
    ++(own ? local_ : remote_);
    auto severity = record.severity;
    std::string text = record.encode();
    if (own && severity <= level_ && ring_size_ > 0) {
        ring_.push_back(text);
        if (ring_.size() > ring_size_) ring_.pop_front();
        followers_.for_each([&](auto& entry) { entry.request.respond(Payload::from_text(text)); });
    }
    bool critical = own && severity <= critical_level_;
    bool leader = !stderr_local_ && rank_ == 0 && severity <= stderr_level_;
    if (critical || (own && stderr_local_ && severity <= stderr_level_) || leader) write_stderr(record);
    if (rank_ > 0 && severity <= forward_level_ && handle_)
        handle_->notify("log.append", Payload::from_bytes(text), CallOptions().upstream());
    if (file_sink_ && rank_ == 0) write_line(*file_sink_, text);
    if (syslog_sink_ && severity <= syslog_level_) write_line(*syslog_sink_, syslog_prefix_ + record.line());
    if (on_record && rank_ == 0) on_record(record);
}

void LogService::write_stderr(const LogRecord& record) {
    if (stderr_local_) {
        write_line(*stderr_sink_, fmt::format("<{}>{}", record.severity, record.line()));
        return;
    }
    // `Mon DD HH:MM:SS.uuuuuu TZ YYYY`, local time.
    tm utc{};
    std::string micros = "000000";
    if (const char* rest = ::strptime(record.timestamp.c_str(), "%Y-%m-%dT%H:%M:%S", &utc); rest && *rest == '.')
        micros.assign(rest + 1, std::min<std::size_t>(6, std::string_view(rest + 1).size()));
    time_t when = ::timegm(&utc);
    tm local{};
    ::localtime_r(&when, &local);
    char front[32], back[32];
    std::strftime(front, sizeof front, "%b %d %H:%M:%S", &local);
    std::strftime(back, sizeof back, "%Z %Y", &local);
    write_line(*stderr_sink_, fmt::format("{}.{} {} {}", front, micros, back, record.line()));
}

void LogService::on_dmesg(Request request) {
    request.require_streaming();
    bool follow = request.json().get<bool>("follow");
    if (!request.json().get_or("nobacklog", false)) {
        for (const auto& text : ring_) request.respond(Payload::from_text(text));
    }
    if (follow)
        followers_.add(request);
    else
        request.end();
}

} // namespace flux::broker
