#include "cmd/follow/progress.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sys/ioctl.h>
#include <unistd.h>

namespace flux::follow {
namespace {

using namespace std::chrono_literals;

constexpr auto redraw_time = 1s;
constexpr std::size_t usual_rows = 24, usual_columns = 80;
constexpr std::size_t least_bar = 4;

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

struct Size {
    std::size_t rows, columns;
};

Size terminal_size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2) return {usual_rows, usual_columns};
    return {size.ws_row, size.ws_col};
}

std::string clock_text(double seconds) {
    auto total = static_cast<long>(std::lround(std::max(seconds, 0.0)));
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

} // namespace

Progress::Progress(Loop& loop, double since, bool throughput)
    : clock_(loop, [this] { draw(); }), since_(since), throughput_(throughput) {
    clock_.start(redraw_time, redraw_time);
    // The other lines scroll without the last one. The cursor goes to the line's place before it is set apart.
    fmt::print("\n\033[1A\0337\033[1;{}r\0338", terminal_size().rows - 1);
    draw();
}

Progress::~Progress() {
    draw();
    fmt::print("\0337\033[1;{}r\0338\n", terminal_size().rows);
    std::fflush(stdout);
}

void Progress::on_event(JobId id, const EventlogEntry& event) {
    auto found = jobs_.find(id);
    if (found == jobs_.end()) {
        if (event.name != "submit") return; // has ended
        found = jobs_.emplace(id, Job()).first;
        ++pending_;
    }
    auto& job = found->second;
    job.outcome.apply(event);
    if (event.name == "alloc" && !job.running) {
        job.running = true;
        --pending_, ++running_;
    } else if (event.name == "clean") {
        --(job.running ? running_ : pending_);
        ++(job.outcome.exit_code() == 0 ? completed_ : failed_);
        jobs_.erase(found);
    } else if (event.name != "submit") {
        return;
    }
    draw();
}

std::string Progress::line(std::size_t width, double now) const {
    auto ended = completed_ + failed_;
    auto total = std::max(expected_, pending_ + running_ + ended);
    auto share = total ? static_cast<double>(ended) / static_cast<double>(total) : 0;
    auto elapsed = now - since_;
    auto left = fmt::format("PD:{} R:{} CD:{} F:{} ", pending_, running_, completed_, failed_);
    auto right = fmt::format(" {:3.0f}% ", share * 100);
    if (throughput_)
        right += fmt::format("{:.1f} job/s", elapsed > 0 ? static_cast<double>(ended) / elapsed : 0);
    else
        right += clock_text(elapsed);
    auto taken = left.size() + right.size() + 2;
    auto bar = width > taken + least_bar ? width - taken : least_bar;
    auto full = static_cast<std::size_t>(share * static_cast<double>(bar));
    return left + "[" + std::string(full, '#') + std::string(bar - full, '-') + "]" + right;
}

void Progress::draw() {
    auto size = terminal_size();
    fmt::print("\0337\033[{};1H\033[2K{}\0338", size.rows, line(size.columns, now()));
    std::fflush(stdout);
}

} // namespace flux::follow
