// The table of the job's processes for debuggers (shell.md 3.18): method `proctable` of every shell. The leader asks
// the other shells for theirs when it is asked, a follower tells its own part.
#pragma once

#include <flux/shell.hpp>

#include <map>
#include <string>
#include <vector>

namespace flux::shell {

struct Process {
    std::string host;
    std::string executable;
    int pid = -1;
    std::uint32_t broker_rank = 0;
};
/// By task rank.
using ProcessMap = std::map<std::size_t, Process>;

/// `{hosts, executables, ids, pids, ranks}`, the lists in their compressed forms.
Json encode_proctable(const ProcessMap& processes);

class Proctable {
public:
    explicit Proctable(Shell& shell);
    /// Serve requests.
    void offer();

private:
    void serve(Request request);
    void ask_others();
    void add_own();
    void add(unsigned shell_rank, JsonView answer);
    void give_up();
    Json own_part() const;

    Shell& shell_;
    ProcessMap processes_;
    std::vector<Request> requests_; // leader: that wait for other shells
    Shell::Hold hold_;              // while there are any
    Timer limit_;
};

} // namespace flux::shell
