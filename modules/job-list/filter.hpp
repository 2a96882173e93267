// Which jobs a request means: RFC 31 constraints over jobs (jobs.md 8.4).
#pragma once

#include "job.hpp"

#include <map>
#include <memory>
#include <string>

namespace flux::job_list {

/// What filters need to know of the instance.
class FilterRules {
public:
    FilterRules() {}
    /// Virtual queues by name, with the queue that they belong to.
    std::map<std::string, std::string, std::less<>> parents;
    /// Hosts that one constraint may name.
    std::size_t max_hosts = 1024;
    /// Comparisons of hosts and ranks in one request; 0: any number.
    std::size_t max_comparisons = 1000000;
};

class Filter {
public:
    /// \throws Error EPROTO saying what is wrong
    Filter(JsonView constraint, const FilterRules& rules);
    /// Matches every job.
    Filter();
    ~Filter();
    Filter(Filter&&) noexcept;

    /// Of jobs that are in one of these states.
    enum class Verdict { never, maybe, always };
    Verdict verdict(int states) const;
    /// \throws Error EINVAL after too many comparisons
    bool matches(const Job& job);

    struct Node;

private:
    std::unique_ptr<Node> root_;
    std::size_t comparisons_left_;
};

} // namespace flux::job_list
