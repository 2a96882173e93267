#include "shell_execution.hpp"

#include <flux/duration.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <sys/wait.h>

namespace flux::job_exec {
namespace {

// More is no text for a leader's log.
constexpr std::size_t notice_limit = 159;

Idset all_of(std::size_t size) { return Idset::below(static_cast<Idset::Id>(size)); }

// `rank 3`, `ranks 3-4`
std::string rank_text(const Idset& ranks) {
    return fmt::format("{} {}", ranks.count() > 1 ? "ranks" : "rank", ranks.encode());
}

} // namespace

ShellExecution::ShellExecution(const Job& job, const Settings& settings)
    : Execution(job, settings), shells_(job.size()), critical_(all_of(job.size())), pending_(job.size()) {}

void ShellExecution::set_state(Shell& shell, State state) {
    auto count = [&](int sign) {
        if (active(shell)) active_ += static_cast<std::size_t>(sign);
        if (shell.state < State::running) pending_ += static_cast<std::size_t>(sign);
    };
    count(-1);
    shell.state = state;
    count(1);
}

void ShellExecution::begin(Time) {
    if (finished() || fatal()) return;
    launched_ = may_launch_ = true;
    for (auto& shell : shells_) set_state(shell, State::launched);
    orders_.launch = job_.ranks();
}

void ShellExecution::resume(const Past& past, bool reattach, Time now) {
    if (past.critical) critical_ = *past.critical & all_of(shells_.size());
    leader_told_ = past.leader_exited;
    launched_ = true;
    may_launch_ = !reattach && !past.started && !past.fatal;
    for (auto& shell : shells_) set_state(shell, may_launch_ ? State::launched : State::expected);
    if (may_launch_) orders_.launch = job_.ranks();
    if (past.fatal) begin_kill(past.fatal_type, std::min(past.fatal_at, now));
}

// What has happened ------------------------------------------------------------------------------------------------

void ShellExecution::on_report(std::uint32_t rank, const ShellReport& report) {
    auto place = position(rank);
    if (!place || finished()) return;
    auto& shell = shells_[*place];
    if (shell.state == State::ended || shell.state == State::idle) return;
    released_ = std::max(released_, report.released);
    if (report.entered > shell.entered) {
        shell.entered = report.entered;
        barrier_news_ = true;
    }
    if (report.expired) expired_ = true;
    for (auto line : report.output.elements()) {
        orders_.events.emplace_back(
            "log", Json::object("component", "flux-shell", "stream", line["stream"].try_as<std::string>().value_or(""),
                                "rank", std::to_string(rank), "data", line["data"].try_as<std::string>().value_or("")));
    }
    switch (report.state) {
    case ShellState::starting: return;
    case ShellState::running: return set_state(shell, State::running);
    case ShellState::ended:
        shell.status = report.status.value_or(0);
        shell.errnum = report.errnum;
        shell.error = report.error;
        return end(*place, report.status ? End::exited : End::unknown);
    case ShellState::failed:
        shell.errnum = report.errnum;
        shell.error = report.error;
        return end(*place, End::failed);
    }
}

void ShellExecution::on_absent(std::uint32_t rank) {
    auto place = position(rank);
    if (!place || finished()) return;
    auto& shell = shells_[*place];
    if (shell.state == State::launched && may_launch_)
        orders_.launch.set(rank); // the order was lost with an agent
    else if (shell.state == State::expected && !started_)
        end(*place, End::never_ran);
    else if (active(shell))
        end(*place, End::shell_lost);
}

void ShellExecution::on_lost(std::uint32_t rank, Loss loss, std::string why) {
    auto place = position(rank);
    if (!place || finished() || !active(shells_[*place])) return;
    shells_[*place].error = std::move(why);
    switch (loss) {
    case Loss::torpid: return end(*place, End::torpid);
    case Loss::broker: return end(*place, End::broker_lost);
    case Loss::agent: return end(*place, End::agent_lost);
    case Loss::shell: return end(*place, End::shell_lost);
    }
}

bool ShellExecution::active_on(std::uint32_t rank) const {
    auto place = position(rank);
    return place && active(shells_[*place]);
}

bool ShellExecution::unheard_on(std::uint32_t rank) const {
    auto place = position(rank);
    return place && shells_[*place].state == State::launched;
}

void ShellExecution::on_given_up(const Idset& ranks) {
    give_up_ = false;
    for (auto rank : ranks) {
        auto place = position(rank);
        if (!place || !active(shells_[*place])) continue;
        shells_[*place].status = 1;
        end(*place, End::given_up);
    }
}

void ShellExecution::end(std::size_t shell, End how) {
    shells_[shell].end = how;
    set_state(shells_[shell], State::ended);
    ended_.set(static_cast<Idset::Id>(shell));
    if (how != End::exited) sound_ = false;
    broken_ = true;
    barrier_news_ = true;
}

void ShellExecution::set_critical(const Idset& shells) {
    if (!all_of(shells_.size()).includes(shells))
        throw Error(EINVAL, fmt::format("{}: not all of these are shell ranks of this job", shells.encode()));
    critical_ = shells;
    orders_.events.emplace_back("critical-ranks", Json::object("ranks", shells.encode()));
}

// What follows -----------------------------------------------------------------------------------------------------

void ShellExecution::settle(Time now) {
    if (!launched_ && !fatal()) return;
    if (!started_ && !fatal() && pending_ == 0 && sound_) start();
    if (!ended_.empty()) judge_ends(now);
    if (std::exchange(expired_, false)) raise("timeout", 0, "resource allocation expired", now);
    check_leader(now);
    check_barrier(now);
    if (active_ > 0) return;
    int status = 0;
    for (const auto& shell : shells_) status = std::max(status, shell.status);
    finish(status);
}

// Ranks of the same fate share one exception.
void ShellExecution::judge_ends(Time now) {
    std::map<End, Idset> by_end;
    std::map<std::string, Idset> failed, severed;
    for (auto shell : ended_) {
        if (shells_[shell].end == End::failed && shells_[shell].errnum != ENOSYS)
            failed[shells_[shell].error].set(shell);
        else if (shells_[shell].end == End::broker_lost)
            severed[shells_[shell].error].set(shell);
        else
            by_end[shells_[shell].end].set(shell);
    }
    ended_.clear();
    for (const auto& [error, shells] : failed) {
        auto ranks = ranks_of(shells);
        fail(fmt::format("job shell exec error on broker {} ({}): {}", job_.hosts(ranks), rank_text(ranks), error),
             now);
    }
    for (const auto& [why, shells] : severed) judge_losses(shells, "node failure", why, now);
    for (const auto& [how, shells] : by_end) {
        auto ranks = ranks_of(shells);
        switch (how) {
        case End::exited: judge_exits(shells, now); break;
        case End::failed:
            fail(fmt::format("{} service is not loaded on {} ({})", settings_.service, job_.hosts(ranks),
                             rank_text(ranks)),
                 now);
            break;
        case End::agent_lost:
            fail(fmt::format("exec-agent service is not loaded on {} ({})", job_.hosts(ranks), rank_text(ranks)), now);
            break;
        case End::torpid: judge_losses(shells, "broker is unresponsive", {}, now); break;
        case End::shell_lost: judge_losses(shells, "job shell is gone", {}, now); break;
        case End::unknown: judge_losses(shells, "job shell ended with unknown status", {}, now); break;
        case End::broker_lost: // see above
        case End::never_ran:
        case End::given_up: break;
        }
    }
}

void ShellExecution::judge_losses(const Idset& shells, const char* what, const std::string& why, Time now) {
    auto critical = ranks_of(shells & critical_);
    auto reason = why.empty() ? why : ": " + why;
    if (!critical.empty())
        fail(fmt::format("{} on {} ({}){}", what, job_.hosts(critical), rank_text(critical), reason), now);
    for (auto shell : shells) {
        auto host = job_.hosts(Idset{job_.rank_of(shell)});
        auto text = fmt::format("{} on {} (shell rank {}){}", what, host, shell, reason);
        if (text.size() > notice_limit) text = "lost contact with job shell";
        bool matters = critical_.test(shell);
        orders_.notices.emplace_back(matters ? 0 : 2, shell, matters ? text : "");
        if (!matters) raise("node-failure", 2, text, now);
    }
}

void ShellExecution::judge_exits(const Idset& shells, Time now) {
    if (shells_.size() == 1) return;
    Idset early;
    for (auto shell : shells)
        if (shells_[shell].entered == 0 && released_ == 0 && barrier_ == 0) early.set(shell);
    if (!early.empty() && !fatal()) {
        auto ranks = ranks_of(early);
        if (job_.guest) orders_.drains.emplace_back(ranks, job_.id.f58() + " terminated before first barrier");
        fail(fmt::format("{} ({}) terminated before first barrier", job_.hosts(ranks), rank_text(ranks)), now);
    }
    for (auto shell : shells) {
        int status = shells_[shell].status;
        if (!WIFSIGNALED(status)) continue;
        auto text = fmt::format("shell rank {} (on {}): {}", shell, job_.hosts(Idset{job_.rank_of(shell)}),
                                describe_signal(WTERMSIG(status)));
        if (shell == 0) {
            fail(text, now);
            continue;
        }
        bool matters = critical_.test(shell);
        orders_.notices.emplace_back(matters ? 0 : 2, shell, matters ? text : "");
        if (!matters) raise("node-failure", 2, text, now);
    }
}

void ShellExecution::check_leader(Time now) {
    const auto& leader = shells_[0];
    if (leader.state != State::ended || leader_told_ || leader.end == End::never_ran) return;
    leader_told_ = true;
    bool exited = leader.end == End::exited || leader.end == End::given_up;
    auto context = Json::object("rank", job_.rank_of(0), "wait_status", exited ? leader.status : -1);
    if (active_ > 0) context.set("active_ranks", active_ranks().encode());
    orders_.events.emplace_back("shell-exit", std::move(context));
    if (active_ > 0 && !fatal() && settings_.shell_exit_timeout) exit_deadline_ = now + *settings_.shell_exit_timeout;
}

void ShellExecution::check_barrier(Time now) {
    if (!std::exchange(barrier_news_, false) || shells_.size() == 1) return;
    std::size_t entered;
    for (;;) {
        auto next = barrier_ + 1;
        entered = static_cast<std::size_t>(
            std::count_if(shells_.begin(), shells_.end(), [&](const auto& shell) { return shell.entered >= next; }));
        if (released_ < next && (broken_ || entered < shells_.size())) break;
        barrier_ = next;
        orders_.barrier = next;
        orders_.release = active_ranks();
    }
    if (broken_) {
        for (std::size_t i = 0; i < shells_.size(); ++i) {
            auto rank = job_.rank_of(i);
            if (!active(shells_[i]) || shells_[i].entered <= barrier_ || refused_.test(rank)) continue;
            refused_.set(rank);
            orders_.refuse.set(rank);
        }
    }
    if (barrier_ > 0 || broken_ || fatal()) {
        barrier_deadline_.reset();
    } else if (entered > 0 && !barrier_deadline_) {
        auto limit = settings_.barrier_timeout;
        auto own = job_.jobspec.find("attributes.system.exec.bulkexec.barrier-timeout");
        if (auto text = own.try_as<std::string_view>()) limit = parse_limit(*text, true);
        if (limit) barrier_deadline_ = now + *limit;
    }
}

// Ending it --------------------------------------------------------------------------------------------------------

void ShellExecution::on_fatal(std::string_view type, Time now) {
    exit_deadline_.reset();
    barrier_deadline_.reset();
    may_launch_ = false;
    orders_.launch.clear();
    if (!launched_) return;
    begin_kill(type, now);
}

void ShellExecution::begin_kill(std::string_view type, Time now) {
    if (active_ == 0) return;
    orders_.signals.emplace_back(active_ranks(), type == "timeout" ? SIGALRM : settings_.term_signal);
    if (!kill_) kill_.emplace(settings_.kill, now);
}

std::optional<Time> ShellExecution::deadline() const {
    auto earliest = Time::max();
    if (barrier_deadline_) earliest = std::min(earliest, *barrier_deadline_);
    if (exit_deadline_) earliest = std::min(earliest, *exit_deadline_);
    if (kill_ && active_ > 0) earliest = std::min(earliest, kill_->next());
    if (earliest == Time::max()) return std::nullopt;
    return earliest;
}

void ShellExecution::on_time(Time now) {
    if (barrier_deadline_ && *barrier_deadline_ <= now) {
        barrier_deadline_.reset();
        Idset missing;
        for (std::size_t i = 0; i < shells_.size(); ++i)
            if (shells_[i].entered == 0) missing.set(job_.rank_of(i));
        orders_.drains.emplace_back(missing, fmt::format("job {} start timeout: possible node hang", job_.id.f58()));
        fail(fmt::format("start barrier timeout waiting for {}/{} nodes ({})", missing.count(), shells_.size(),
                         rank_text(missing)),
             now);
    }
    if (exit_deadline_ && *exit_deadline_ <= now) {
        exit_deadline_.reset();
        auto ranks = active_ranks();
        fail(fmt::format("job shells still active on {} ({}) {} after leader shell exit", job_.hosts(ranks),
                         rank_text(ranks), format_duration(to_seconds(*settings_.shell_exit_timeout))),
             now);
    }
    while (kill_ && active_ > 0 && kill_->next() <= now) take_kill_step();
}

void ShellExecution::take_kill_step() {
    switch (kill_->take()) {
    case KillPlan::Step::kill_tasks:
        ++kill_count_;
        orders_.kill_tasks = settings_.kill_signal;
        break;
    case KillPlan::Step::kill_shells:
        // The IMP of a guest's shell cannot be killed; this asks it to.
        orders_.signals.emplace_back(active_ranks(), job_.guest ? SIGUSR1 : settings_.kill_signal);
        break;
    case KillPlan::Step::give_up:
        if (std::exchange(give_up_, true)) break;
        orders_.drains.emplace_back(active_ranks(), fmt::format("unkillable user processes for job {}", job_.id.f58()),
                                    true);
    }
}

// Views ------------------------------------------------------------------------------------------------------------

Idset ShellExecution::ranks_of(const Idset& shells) const {
    Idset ranks;
    for (auto shell : shells) ranks.set(job_.rank_of(shell));
    return ranks;
}

Idset ShellExecution::active_ranks() const {
    if (active_ == shells_.size()) return job_.ranks();
    Idset ranks;
    std::size_t i = 0;
    for (auto rank : job_.ranks())
        if (active(shells_[i++])) ranks.set(rank);
    return ranks;
}

std::optional<std::uint32_t> ShellExecution::leader() const {
    if (shells_[0].state != State::running) return std::nullopt;
    return job_.rank_of(0);
}

Json ShellExecution::stats() const {
    auto stats = Execution::stats();
    stats.set("implementation", settings_.method);
    stats.set("critical_ranks", critical_.encode());
    stats.set("kill_timeout", to_seconds(settings_.kill.kill_timeout));
    stats.set("kill_count", kill_count_);
    stats.set("kill_shell_count", kill_ ? kill_->shell_kills() : 0);
    stats.set("total_shells", shells_.size());
    stats.set("active_shells", active_);
    stats.set("active_ranks", active_ranks().encode());
    return stats;
}

} // namespace flux::job_exec
