// input — feeds the tasks' stdin: from clients by way of the leader (service `stdin`, recorded in eventlog `input`), or
// each task from a file (option `input.stdin`). Without a broker: from the shell's own stdin.
#include <flux/byte_size.hpp>
#include <flux/io_data.hpp>
#include <flux/pipe.hpp>
#include <flux/shell.hpp>
#include <flux/shell_protocol.hpp>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::shell {
namespace {

constexpr std::uint64_t default_limit = 10 << 20;
constexpr std::uint64_t max_limit = 32 << 20;

class Input final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        auto option = shell().option("input");
        auto type = option.find("stdin.type").try_as<std::string>().value_or("service");
        path_ = option.find("stdin.path").try_as<std::string>().value_or("");
        limit_ = read_limit(option["limit"]);
        open_ = Idset::below(static_cast<Idset::Id>(shell().info().ntasks));
        if (type == "file") {
            check_file();
            if (shell().leader()) post_redirect();
        } else if (type != "service") {
            throw Error(EINVAL, "invalid input type '" + type + "'");
        } else if (shell().standalone()) {
            if (::fcntl(STDIN_FILENO, F_GETFD) < 0) co_return;
            pollable_ = is_pollable();
        } else if (shell().leader()) {
            post_header();
            shell().serve(shell_protocol::stdin_data, [this](const Request& request) { receive(request); });
        } else {
            shell().receive(shell_protocol::stdin_relay,
                            [this](unsigned, JsonView data) { deliver(IoData::decode(data)); });
        }
    }

    void task_init(ShellTask& task) override {
        if (!path_.empty())
            task.use_file("stdin", open_file(path_));
        else if (shell().standalone() && !pollable_)
            task.use_file("stdin", ::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC));
    }

    Task<> start() override {
        started_ = true;
        for (auto& data : std::exchange(early_, {})) deliver(data);
        if (shell().standalone() && path_.empty() && pollable_) read_own();
        co_return;
    }

private:
    static std::uint64_t read_limit(JsonView option) {
        if (!option) return default_limit;
        auto limit = option.is_integer() ? option.as<std::uint64_t>() : parse_byte_size(option.as<std::string_view>());
        if (limit > max_limit) throw Error(EINVAL, "input.limit is above " + format_byte_size(max_limit));
        return limit;
    }

    // From a file -------------------------------------------------------------------------------------------------

    static int open_file(const std::string& path) {
        int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) throw Error(errno, "error opening input file '" + path + "': " + errno_text(errno));
        return fd;
    }
    void check_file() const {
        if (path_.empty()) throw Error(EINVAL, "input of type file without a path");
        ::close(open_file(path_));
    }
    void post_redirect() {
        post_header();
        shell().append_event(shell_protocol::input_key,
                             EventlogEntry("redirect", Json::object("stream", "stdin", "rank", "all", "path", path_)));
    }

    // From clients --------------------------------------------------------------------------------------------------

    void post_header() {
        auto context = Json::object("version", 1, "encoding", Json::object("stdin", "UTF-8"), "count",
                                    Json::object("stdin", 1), "options", Json::object());
        shell().append_event(shell_protocol::input_key, EventlogEntry("header", std::move(context)));
    }

    void receive(const Request& request) {
        auto data = IoData::decode(request.json());
        if (data.stream != "stdin") throw Error(EPROTO, "no stream '" + data.stream + "'");
        auto ranks = targets(data.rank);
        if (!ranks) throw Error(EPROTO, "malformed rank '" + data.rank + "'");
        if (open_.empty() || !open_.includes(*ranks)) throw Error(EPIPE);
        total_ += data.data.size();
        if (total_ > limit_) {
            shell().fatal(1, "stdin exceeds " + format_byte_size(limit_) +
                                 " limit. Use input from a file or raise input.limit");
            throw Error(EFBIG);
        }
        if (data.eof) open_ -= *ranks;
        shell().append_event(shell_protocol::input_key, EventlogEntry("data", request.json().copy()));
        deliver(data);
        for (const auto& other : shell().info().ranks)
            if (other.rank != 0 && other.taskids.intersects(*ranks))
                shell().send(other.rank, shell_protocol::stdin_relay, request.json());
        request.respond();
    }

    // The tasks that a rank names; nothing when it is malformed. `all` are those still open.
    std::optional<Idset> targets(std::string_view rank) const {
        if (rank == "all") return open_;
        return Idset::try_parse(rank);
    }

    void deliver(const IoData& data) {
        if (!started_) {
            early_.push_back(data);
            return;
        }
        auto ranks = data.rank == "all" ? shell().info().self().taskids : Idset::try_parse(data.rank).value_or(Idset());
        for (auto* task : shell().tasks())
            if (ranks.test(task->rank())) feed(*task, data.data, data.eof);
    }

    void feed(ShellTask& task, std::string_view data, bool eof) {
        try {
            if (!data.empty()) task.write("stdin", data);
            if (eof) task.close("stdin");
        } catch (const Error& error) {
            if (error.errnum() == EPIPE) return;
            shell().log(Level::warning, "input",
                        "task " + std::to_string(task.rank()) + ": " +
                            (error.errnum() == ENOSPC ? "buffer full" : error.what()) + ", closing stdin");
            task.close("stdin");
        }
    }

    // From the shell's own stdin ------------------------------------------------------------------------------------

    static bool is_pollable() {
        struct stat status;
        if (::fstat(STDIN_FILENO, &status) < 0) return false;
        return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || ::isatty(STDIN_FILENO);
    }
    void read_own() {
        auto copy = FileDescriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
        reader_.emplace(shell().loop(), std::move(copy), ReadMode::raw, [this](std::string_view data) {
            for (auto* task : shell().tasks()) feed(*task, data, data.empty());
        });
    }

    std::string path_;
    std::uint64_t limit_ = 0;
    std::uint64_t total_ = 0;
    Idset open_; // leader: tasks whose stdin may still get data
    bool started_ = false;
    std::vector<IoData> early_; // came before the tasks were started
    bool pollable_ = true;
    std::optional<PipeReader> reader_;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Input, "input")
