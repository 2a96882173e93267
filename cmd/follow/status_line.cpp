#include "cmd/follow/status_line.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <unistd.h>
#include <utility>

namespace flux::follow {
namespace {

constexpr auto patience = std::chrono::seconds(2);
constexpr auto period = std::chrono::seconds(1);

constexpr std::pair<std::string_view, std::string_view> texts[] = {
    {"submit", "submitted"},
    {"validate", "resolving dependencies"},
    {"depend", "waiting for priority assignment"},
    {"priority", "waiting for resources"},
    {"alloc", "starting"},
    {"prolog-start", "waiting for prolog"},
    {"prolog-finish", "starting"},
    {"start", "started"},
};

bool user_is_there() { return ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO) && ::isatty(STDERR_FILENO); }

} // namespace

StatusLine::StatusLine(Loop& loop, JobId id, bool at_once) : id_(id) {
    if (std::getenv("FLUX_ATTACH_NONINTERACTIVE") || !(at_once || user_is_there())) return;
    timer_ = std::make_unique<Timer>(loop, [this] { draw(); });
    timer_->start(at_once ? std::chrono::seconds(0) : patience, period);
}

void StatusLine::on_event(const EventlogEntry& event) {
    if (!timer_) return;
    if (event.name == "submit") t_submit_ = event.timestamp;
    for (const auto& [name, text] : texts)
        if (event.name == name) text_ = text;
    if (event.name != "start" && event.name != "clean") return;
    clear();
    timer_.reset();
}

void StatusLine::draw() {
    if (text_.empty()) return;
    auto elapsed = static_cast<long>(static_cast<double>(std::time(nullptr)) - t_submit_);
    fmt::print(stderr, "\rflux-job: {} {:<40} {:02}:{:02}:{:02}\r", id_.f58(), text_, elapsed / 3600, elapsed / 60 % 60,
               elapsed % 60);
    drawn_ = true;
}

void StatusLine::clear() {
    if (std::exchange(drawn_, false)) fmt::print(stderr, "\r\033[K");
}

} // namespace flux::follow
