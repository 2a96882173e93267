#include "cmd/snapshot/progress.hpp"

#include <fmt/core.h>

namespace flux::snapshot {
namespace {

// The first keys are shown one by one, so that something is seen to happen.
constexpr std::uint64_t first = 9;
constexpr std::uint64_t interval = 100;

} // namespace

Progress::Progress(Handle* handle, const options::Parsed& parsed, std::string done)
    : handle_(parsed.has("sd-notify") ? handle : nullptr),
      parsed_(parsed),
      done_(std::move(done)),
      names_(parsed.has("verbose")),
      counts_(!names_ && !parsed.has("quiet")) {}

Progress::~Progress() { end_line(); }

void Progress::end_line() {
    if (std::exchange(in_line_, false)) fmt::print(stderr, "\n");
}

void Progress::add(const std::string& path) {
    ++keys_;
    if (names_) fmt::print(stderr, "{}\n", path);
    if (keys_ <= first || keys_ % interval == 0) show();
}

void Progress::finish() {
    show();
    end_line();
}

void Progress::say(const std::string& text) {
    end_line();
    fmt::print(stderr, "{}", parsed_.failure_line(text));
}

void Progress::show() {
    if (handle_) {
        auto status = fmt::format("{}(1) has {} {} keys", parsed_.command().program, done_, keys_);
        handle_->notify("state-machine.sd-notify", Json::object("status", status));
    }
    if (!counts_) return;
    fmt::print(stderr, "\r{}: {} {} keys{}", parsed_.command().program, done_, keys_, more);
    in_line_ = true;
}

} // namespace flux::snapshot
