#include "agent_table.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace flux::job_exec {

AgentTable::Shell* AgentTable::find(JobId id) {
    auto found = shells_.find(id);
    return found == shells_.end() ? nullptr : &found->second;
}

void AgentTable::change(Shell& shell, bool save) {
    changed_.insert(shell.job.id);
    if (save) unsaved_.insert(shell.job.id);
}

void AgentTable::drop(JobId id) {
    auto* shell = find(id);
    if (shell->deadline) deadlines_.erase({*shell->deadline, id});
    shells_.erase(id);
    changed_.erase(id);
    unsaved_.erase(id);
    forgotten_.push_back(id);
}

// The coordinator ----------------------------------------------------------------------------------------------------

bool AgentTable::launch(const AgentJob& job) {
    auto [place, added] = shells_.try_emplace(job.id, job);
    changed_.insert(job.id);
    if (added) schedule(place->second);
    return added;
}

void AgentTable::signal(JobId id, int signum) {
    if (auto* shell = find(id)) send(*shell, signum);
}

void AgentTable::send(Shell& shell, int signum) {
    if (shell.report.state == ShellState::starting)
        shell.early_signals.push_back(signum);
    else if (shell.report.state == ShellState::running)
        signals_.emplace_back(shell.job.id, signum);
}

void AgentTable::release(JobId id, int seq) {
    auto* shell = find(id);
    if (!shell) return;
    if (seq == 0) {
        shell->refused = true;
    } else if (seq > shell->report.released) {
        shell->report.released = seq;
        unsaved_.insert(id);
    }
}

void AgentTable::set_limit(JobId id, std::optional<Time> limit) {
    auto* shell = find(id);
    if (!shell) return;
    shell->job.limit = limit;
    schedule(*shell);
}

void AgentTable::end(JobId id, int signum, Time now) {
    auto* shell = find(id);
    if (!shell) return;
    if (over(*shell)) return drop(id);
    if (!std::exchange(shell->unwanted, true)) begin_kill(*shell, signum, now);
}

void AgentTable::forget(JobId id) {
    auto* shell = find(id);
    if (shell && over(*shell)) drop(id);
}

// Processes ----------------------------------------------------------------------------------------------------------

void AgentTable::started(JobId id) {
    auto* shell = find(id);
    if (!shell || shell->report.state != ShellState::starting) return;
    shell->report.state = ShellState::running;
    change(*shell, true);
    for (auto signum : std::exchange(shell->early_signals, {})) send(*shell, signum);
}

void AgentTable::failed(JobId id, int errnum, const std::string& error) {
    auto* shell = find(id);
    if (!shell || over(*shell)) return;
    shell->report.state = ShellState::failed;
    shell->report.errnum = errnum;
    shell->report.error = error;
    change(*shell, true);
    schedule(*shell);
    if (shell->unwanted) drop(id);
}

void AgentTable::ended(JobId id, std::optional<int> status, int errnum, const std::string& error, Json output) {
    auto* shell = find(id);
    if (!shell || over(*shell)) return;
    shell->report.state = ShellState::ended;
    shell->report.status = status;
    shell->report.errnum = errnum;
    shell->report.error = error;
    shell->report.output = std::move(output);
    change(*shell, true);
    schedule(*shell);
    if (shell->unwanted) drop(id);
}

// Shells -------------------------------------------------------------------------------------------------------------

AgentTable::Entry AgentTable::enter(JobId id, int seq) {
    auto* shell = find(id);
    if (!shell || over(*shell)) throw Error(ENOENT, "there is no such shell here");
    auto& entered = shell->report.entered;
    if (seq < 1 || (seq != entered && seq != entered + 1))
        throw Error(EINVAL, "barrier " + std::to_string(seq) + " after " + std::to_string(entered));
    if (seq > entered) {
        entered = seq;
        change(*shell, true);
    }
    return entry(id, seq);
}

AgentTable::Entry AgentTable::entry(JobId id, int seq) const {
    auto found = shells_.find(id);
    if (found == shells_.end()) return Entry::refuse;
    const auto& shell = found->second;
    if (seq <= shell.report.released) return Entry::pass;
    return shell.refused || over(shell) ? Entry::refuse : Entry::wait;
}

const AgentJob* AgentTable::job(JobId id) const {
    auto found = shells_.find(id);
    return found == shells_.end() ? nullptr : &found->second.job;
}

// Rebuild and time ---------------------------------------------------------------------------------------------------

void AgentTable::adopt(const AgentJob& job, ShellReport last) {
    auto& shell = shells_.try_emplace(job.id, job).first->second;
    shell.report = std::move(last);
    schedule(shell);
}

void AgentTable::schedule(Shell& shell) {
    if (shell.deadline) deadlines_.erase({*shell.deadline, shell.job.id});
    shell.deadline.reset();
    if (over(shell)) return;
    if (shell.kill)
        shell.deadline = shell.kill->next();
    else if (shell.job.limit && !shell.report.expired)
        shell.deadline = shell.job.limit;
    if (shell.deadline) deadlines_.emplace(*shell.deadline, shell.job.id);
}

std::optional<Time> AgentTable::deadline() const {
    if (deadlines_.empty()) return std::nullopt;
    return deadlines_.begin()->first;
}

void AgentTable::begin_kill(Shell& shell, int signum, Time now) {
    send(shell, signum);
    shell.kill.emplace(timing_, now);
    schedule(shell);
}

void AgentTable::on_time(Time now, bool alone) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        auto& shell = *find(deadlines_.begin()->second);
        if (!shell.kill) {
            shell.report.expired = true;
            change(shell, true);
            if (alone)
                begin_kill(shell, SIGALRM, now);
            else
                schedule(shell);
            continue;
        }
        // Only the leader's broker can have the tasks killed by their shells, and nobody here gives up.
        if (shell.kill->take() == KillPlan::Step::kill_shells) send(shell, kill_signal_);
        schedule(shell);
    }
}

Json AgentTable::all_reports() const {
    auto reports = Json::array();
    for (const auto& [id, shell] : shells_) reports.append(shell.report.encode());
    return reports;
}

Json AgentTable::reports_of(const std::set<JobId>& ids) const {
    auto reports = Json::array();
    for (auto id : ids)
        if (contains(id)) reports.append(report(id).encode());
    return reports;
}

} // namespace flux::job_exec
