#include <flux/job_state.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <sys/wait.h>

namespace flux {

namespace {

struct Name {
    int value;
    std::string_view name;
    std::string_view letter;
};

constexpr Name states[] = {
    {1, "NEW", "N"},
    {2, "DEPEND", "D"},
    {4, "PRIORITY", "P"},
    {8, "SCHED", "S"},
    {16, "RUN", "R"},
    {32, "CLEANUP", "C"},
    {64, "INACTIVE", "I"},
    {job_states_pending, "PENDING", "PD"},
    {job_states_running, "RUNNING", "RU"},
    {job_states_active, "ACTIVE", "A"},
};
constexpr std::size_t single_states = 7;

constexpr Name results[] = {{1, "COMPLETED", "CD"}, {2, "FAILED", "F"}, {4, "CANCELED", "CA"}, {8, "TIMEOUT", "TO"}};

template <std::size_t N> const Name* by_value(const Name (&names)[N], std::size_t count, int value) noexcept {
    auto* end = names + count;
    auto* found = std::find_if(names, end, [&](const Name& name) { return name.value == value; });
    return found == end ? nullptr : found;
}

// All upper or all lower case.
bool same_word(std::string_view text, std::string_view upper) noexcept {
    return text == upper || std::equal(text.begin(), text.end(), upper.begin(), upper.end(),
                                       [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

template <std::size_t N> const Name* by_text(const Name (&names)[N], std::string_view text) noexcept {
    for (auto& name : names) {
        if (same_word(text, name.name) || same_word(text, name.letter)) return &name;
    }
    return nullptr;
}

} // namespace

std::string_view job_state_name(JobState state) noexcept {
    auto* name = by_value(states, single_states, static_cast<int>(state));
    return name ? name->name : "(unknown)";
}

std::string_view job_state_letter(JobState state) noexcept {
    auto* name = by_value(states, single_states, static_cast<int>(state));
    return name ? name->letter : "?";
}

std::optional<int> parse_job_state(std::string_view text) noexcept {
    auto* name = by_text(states, text);
    if (!name) return std::nullopt;
    return name->value;
}

std::string_view job_result_name(JobResult result) noexcept {
    auto* name = by_value(results, std::size(results), static_cast<int>(result));
    return name ? name->name : "(unknown)";
}

std::string_view job_result_letter(JobResult result) noexcept {
    auto* name = by_value(results, std::size(results), static_cast<int>(result));
    return name ? name->letter : "?";
}

std::optional<JobResult> parse_job_result(std::string_view text) noexcept {
    auto* name = by_text(results, text);
    if (!name) return std::nullopt;
    return static_cast<JobResult>(name->value);
}

JobResult job_result(std::optional<int> finish_status, std::optional<std::string_view> exception_type) noexcept {
    if (exception_type == "cancel") return JobResult::canceled;
    if (exception_type == "timeout") return JobResult::timeout;
    return finish_status == 0 && !exception_type ? JobResult::completed : JobResult::failed;
}

int job_exit_code(int wait_status) noexcept {
    if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
    return WEXITSTATUS(wait_status);
}

std::string describe_job_failure(int wait_status) {
    if (WIFSIGNALED(wait_status)) return fmt::format("job shell {}", ::strsignal(WTERMSIG(wait_status)));
    int code = WEXITSTATUS(wait_status);
    if (code == 0) return {};
    if (code > 128) return fmt::format("task(s) {}", ::strsignal(code - 128));
    return fmt::format("task(s) exited with exit code {}", code);
}

} // namespace flux
