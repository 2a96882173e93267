#include "cmd/bulk.hpp"

#include "cmd/submission/submit.hpp"
#include "cmd/time/moment.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace flux::cmd {
namespace {

/// Requests under way at a time: enough for ingest to gather, few enough to hold in memory.
constexpr std::size_t window = 1024;

std::optional<Idset> copies_of(const options::Parsed& parsed) {
    if (parsed.has("cc") && parsed.has("bcc")) throw Error(EINVAL, "specify only one of --cc or --bcc");
    auto ids = parsed.find(parsed.has("cc") ? "cc" : "bcc");
    if (!ids) return std::nullopt;
    return Idset::parse(*ids);
}

} // namespace

std::unique_ptr<follow::Progress> make_progress(Loop& loop, const options::Parsed& parsed, double since) {
    if (!parsed.has("progress") && !parsed.has("jps")) return nullptr;
    if (::isatty(STDOUT_FILENO)) return std::make_unique<follow::Progress>(loop, since, parsed.has("jps"));
    fmt::print(stderr, "{}: WARNING: stdout is not a tty. Ignoring --progress option\n", parsed.program());
    return nullptr;
}

Bulk::Bulk(Context& context, const options::Parsed& parsed)
    : handle_(context.handle()),
      parsed_(parsed),
      monitors_(handle_, context.scope(),
                [this](const Error& error) { fmt::print(stderr, "{}", parsed_.failure_line(error.what())); }),
      copies_(copies_of(parsed)),
      urgency_(submission::urgency(parsed)),
      flags_(submission::submit_flags(parsed)) {
    auto progress = make_progress(context.loop(), parsed, moment::parse("now"));
    follow_ = progress || parsed.has("wait") || parsed.has("watch") || parsed.has("wait-event");
    monitors_.show(std::move(progress));
    expect(1);
    options_.output = parsed.has("watch");
    options_.label_io = parsed.has("label-io");
    options_.verbose = parsed.count("verbose");
    options_.wait_event = parsed.get("wait-event", options_.wait_event);
}

Bulk::~Bulk() {
    for (auto& [name, file] : files_) std::fclose(file);
}

void Bulk::expect(std::size_t jobs) { monitors_.expect(jobs * (copies_ ? copies_->count() : 1)); }

FILE* Bulk::open(std::optional<std::string_view> name, FILE* terminal) {
    if (!name) return terminal;
    auto& file = files_[std::string(*name)];
    if (!file) file = std::fopen(std::string(*name).c_str(), "w");
    if (file) return file;
    int errnum = errno;
    files_.erase(std::string(*name));
    throw Error(errnum, errno_text(errnum) + ": '" + std::string(*name) + "'");
}

Task<> Bulk::submit(const options::Parsed* parsed, submission::Tags tags) {
    if (!copies_) {
        while (under_way_ >= window) co_await answered_.wait();
        auto change = [&](std::string_view text) { return submission::substitute(text, tags); };
        if (tags)
            send(parsed->with_values(change), "", std::nullopt);
        else
            send(*parsed, "", std::nullopt);
        co_return;
    }
    for (auto copy : *copies_) {
        while (under_way_ >= window) co_await answered_.wait();
        auto cc = std::to_string(copy);
        auto all_tags = [&](std::string_view tag) {
            if (tag == "cc") return std::optional(cc);
            return tags ? tags(tag) : std::nullopt;
        };
        auto change = [&](std::string_view text) { return submission::substitute(text, all_tags); };
        std::optional<std::string_view> variable;
        if (parsed_.has("cc")) variable = cc;
        send(parsed->with_values(change), "cc=" + cc + ": ", variable);
    }
}

void Bulk::send(const options::Parsed& parsed, const std::string& label, std::optional<std::string_view> cc) {
    auto jobspec = submission::make_jobspec(parsed, surroundings_, cc);
    auto options = options_;
    options.out = open(parsed.find("log"), stdout);
    options.err = open(parsed.find("log-stderr"), stderr);
    ++under_way_;
    submission::submit(handle_, jobspec, urgency_, flags_).then([this, label, options](const Message& answer) {
        --under_way_;
        on_answer(answer, label, options);
        answered_.notify_all();
    });
}

void Bulk::on_answer(const Message& answer, const std::string& label, const follow::MonitorOptions& options) {
    if (answer.errnum()) {
        auto text = fmt::format("{}[Errno {}] {}", label, answer.errnum(), answer.error_text());
        fmt::print(stderr, "{}", parsed_.failure_line(text));
        exit_code_ = options::exit_code::failure;
        return;
    }
    auto id = answer.json().get<JobId>("id");
    if (!parsed_.has("quiet")) fmt::print(options.out, "{}\n", id.f58());
    if (!follow_) return;
    if (options_.output) std::fflush(options.out);
    monitors_.add(id, options);
}

Task<int> Bulk::finish() {
    while (under_way_ > 0) co_await answered_.wait();
    std::fflush(stdout);
    int code = co_await monitors_.ended();
    co_return std::max(code, exit_code_);
}

} // namespace flux::cmd
