// output — takes what the tasks write to stdout and stderr. The leader appends it to eventlog `output` or writes a file
// for all; followers send theirs to it, and read no more when it does not keep up. A file whose name differs between
// shells or tasks is written by each shell itself.
#include "config.hpp"
#include "files.hpp"

#include <flux/byte_size.hpp>
#include <flux/io_data.hpp>
#include <flux/shell.hpp>
#include <flux/shell_protocol.hpp>

#include <cerrno>
#include <unistd.h>

namespace flux::shell {
namespace {

/// Bytes of events on their way to the KVS above which no more output is read.
constexpr std::size_t high_water = 1 << 20;

/// Size of the text of one event. A whole line fits in, unless it is full of what must be escaped.
constexpr std::size_t line_limit = 4 << 20;
constexpr std::size_t event_limit = 1 << 20;

// How much of `data` goes into one event.
std::size_t piece_size(std::string_view data) {
    constexpr std::size_t longest_escape = 6;
    const auto limit = data.ends_with('\n') ? line_limit : event_limit;
    if (data.size() <= limit / longest_escape) return data.size();
    std::size_t size = 0, text = 0;
    for (; size < data.size(); ++size) {
        text += static_cast<unsigned char>(data[size]) < 0x20 ? longest_escape : 1;
        if (text > limit) break;
    }
    // Not within a character.
    for (int back = 0; back < 3 && size < data.size() && (data[size] & 0xC0) == 0x80; ++back) --size;
    return size;
}

class Output final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        config_ = OutputConfig::read(shell());
        out_.config = &config_.out;
        err_.config = &config_.err;
        if (shell().leader()) {
            post_header();
            followers_ = shell().hold();
            shell().receive(shell_protocol::write, [this](unsigned, JsonView message) { receive_forwarded(message); });
        }
        for (auto* stream : {&out_, &err_}) open_files(*stream);
        if (shell().leader())
            for (auto* stream : {&out_, &err_}) post_redirect(*stream);
        redirect_log();
        for (auto* task : shell().tasks())
            for (auto* stream : {&out_, &err_})
                task->on_output(stream->config->name, stream->config->line_buffered,
                                [this, stream](ShellTask& task, std::string_view data, bool eof) {
                                    receive(*stream, task, data, eof);
                                });
        co_return;
    }

    void tasks_complete() override {
        for (auto* stream : {&out_, &err_})
            if (stream->total > config_.limit && stream->config->target == StreamConfig::Target::events)
                shell().log(Level::warning, "output",
                            stream->config->name + ": " + std::to_string(stream->total - config_.limit) + " of " +
                                std::to_string(stream->total) + " bytes truncated");
        followers_.release();
    }

private:
    struct Stream {
        const StreamConfig* config = nullptr;
        bool per_shell = false;         // each shell writes its own files
        std::vector<OutputFile*> files; // by local task, of this shell
        OutputFile* shared = nullptr;   // leader: of other shells
        std::uint64_t total = 0;        // leader: bytes, kept or not
    };

    // Setting up ------------------------------------------------------------------------------------------------------

    void post_header() {
        auto ntasks = shell().info().ntasks;
        auto encoding = Json::object("stdout", "UTF-8", "stderr", "UTF-8");
        auto count = Json::object("stdout", ntasks, "stderr", ntasks);
        post("header", Json::object("version", 1, "encoding", std::move(encoding), "count", std::move(count), "options",
                                    Json::object()));
    }

    void post(std::string_view event, Json context) {
        shell().append_event(shell_protocol::output_key, EventlogEntry(event, std::move(context)));
    }

    void open_files(Stream& stream) {
        const auto& config = *stream.config;
        if (config.target != StreamConfig::Target::file) return;
        stream.per_shell = shell().renders_per_shell(config.path);
        if (!stream.per_shell && !shell().leader()) return;
        for (auto* task : shell().tasks())
            stream.files.push_back(&files_.open(shell().render(config.path, task), config.open_flags));
        if (!stream.per_shell && shell().info().size > 1)
            stream.shared = &files_.open(shell().render(config.path), config.open_flags);
    }

    void post_redirect(const Stream& stream) {
        const auto& config = *stream.config;
        if (config.target != StreamConfig::Target::file) return;
        auto all = Idset::below(static_cast<Idset::Id>(shell().info().ntasks));
        post("redirect", Json::object("stream", config.name, "rank", all.encode_with_brackets(), "path",
                                      shell().render(config.path, shell().info().size)));
    }

    // What the shells have to say goes where the tasks' stderr goes.
    void redirect_log() {
        if (err_.config->target != StreamConfig::Target::file) return;
        if (err_.per_shell || shell().leader()) {
            auto* file = err_.shared ? err_.shared : err_.files.empty() ? nullptr : err_.files.front();
            if (file) shell().redirect_log([this, file](const LogRecord& record) { write(*file, format_log(record)); });
            return;
        }
        shell().redirect_log([this](const LogRecord& record) {
            forward("log", Json::object("rank", record.rank, "level", static_cast<int>(record.level), "component",
                                        record.component, "message", record.message));
        });
    }

    // Output of this shell's tasks
    // --------------------------------------------------------------------------------------

    void receive(Stream& stream, ShellTask& task, std::string_view data, bool eof) {
        const auto& config = *stream.config;
        auto rank = std::to_string(task.rank());
        if (config.target == StreamConfig::Target::terminal) {
            if (!eof) write_terminal(config, rank, data);
        } else if (!stream.files.empty()) {
            if (!eof) write(*stream.files[task.local_id()], labelled(config, rank, data));
        } else if (!eof) {
            for (auto rest = data; !rest.empty();) {
                auto size = piece_size(rest);
                pass_on(stream, rank, rest.substr(0, size), false);
                rest.remove_prefix(size);
            }
        } else if (config.target == StreamConfig::Target::events || shell().leader()) {
            pass_on(stream, rank, data, true);
        }
    }

    void pass_on(Stream& stream, const std::string& rank, std::string_view data, bool eof) {
        if (shell().leader())
            keep(stream, rank, data, eof);
        else
            forward("data", IoData::encode(stream.config->name, rank, data, eof));
    }

    static std::string labelled(const StreamConfig& config, std::string_view rank, std::string_view data) {
        std::string text;
        if (config.label) text.append(rank) += ": ";
        return text += data;
    }

    void write(OutputFile& file, std::string_view data) {
        try {
            file.write(data);
        } catch (const Error& error) {
            if (std::exchange(write_failed_, true)) return;
            shell().redirect_log(nullptr);
            shell().log(Level::error, "output", error.what());
        }
    }

    static void write_terminal(const StreamConfig& config, std::string_view rank, std::string_view data) {
        auto text = labelled(config, rank, data);
        int fd = config.name == "stdout" ? STDOUT_FILENO : STDERR_FILENO;
        std::string_view rest = text;
        while (!rest.empty()) {
            auto count = ::write(fd, rest.data(), rest.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return;
            rest.remove_prefix(static_cast<std::size_t>(count));
        }
    }

    // Leader
    // ------------------------------------------------------------------------------------------------------------

    // Append to the eventlog, up to the limit.
    void keep(Stream& stream, std::string_view rank, std::string_view data, bool eof) {
        if (!data.empty()) {
            bool full = stream.total > config_.limit;
            stream.total += data.size();
            if (!full && stream.total > config_.limit)
                shell().log(Level::warning, "output",
                            stream.config->name + " will be truncated, " + format_byte_size(config_.limit) +
                                " limit exceeded");
            if (stream.total > config_.limit) data = {};
        }
        if (data.empty() && !eof) return;
        post("data", IoData::encode(stream.config->name, rank, data, eof));
        if (!stopped_ && shell().uncommitted() > high_water) stop();
    }

    void stop() {
        stopped_ = true;
        shell().enable_output(false);
        shell().stall_senders(true);
        shell().when_committed([this] {
            stopped_ = false;
            shell().enable_output(true);
            shell().stall_senders(false);
        });
    }

    void receive_forwarded(JsonView message) {
        auto context = message.get<JsonView>("context");
        if (message.get<std::string_view>("name") == "log") {
            auto component = context.get_or<std::string>("component", "");
            auto text = context.get<std::string>("message");
            if (err_.shared)
                write(*err_.shared, format_log(LogRecord{static_cast<Level>(context.get<int>("level")), component, text,
                                                         context.get<int>("rank")}));
            return;
        }
        auto io = IoData::decode(context);
        auto& stream = io.stream == "stdout" ? out_ : err_;
        if (stream.shared)
            write(*stream.shared, labelled(*stream.config, io.rank, io.data));
        else
            keep(stream, io.rank, io.data, io.eof);
    }

    // Follower
    // ----------------------------------------------------------------------------------------------------------

    void forward(std::string_view name, Json context) {
        shell().send(0, shell_protocol::write, Json::object("name", name, "context", std::move(context)));
        if (stopped_ || shell().unsent(0) < config_.high_water) return;
        stopped_ = true;
        shell().enable_output(false);
        shell().when_unsent(0, config_.low_water, [this] {
            stopped_ = false;
            shell().enable_output(true);
        });
    }

    OutputConfig config_;
    OutputFiles files_;
    Stream out_, err_;
    Shell::Hold followers_; // leader: until the last shell is done
    bool stopped_ = false;  // no output is read
    bool write_failed_ = false;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Output, "output")
