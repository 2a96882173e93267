// All jobs, in the orders in which they are listed.
#pragma once

#include "counts.hpp"
#include "filter.hpp"
#include "job.hpp"

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace flux::job_list {

class Table {
public:
    Table() = default;
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    /// An answer of job-manager's journal: `{id, events, jobspec?, R?}`. \throws Error when it is malformed
    void apply(JsonView answer);
    /// This inactive job is no more.
    void purge(JobId id);

    /// Null when it is not known.
    const Job* find(JobId id) const noexcept;
    /// The jobs that a request means, in order: at most `limit` (0: all), of the inactive ones those that ended after
    /// `since`. \throws Error EINVAL after too many comparisons
    std::vector<const Job*> select(Filter& filter, std::size_t limit, double since) const;
    const Counts& counts() const noexcept { return counts_; }

private:
    struct Place {
        double order; ///< lower ones come first
        JobId id;
        auto operator<=>(const Place&) const = default;
    };
    using List = std::map<Place, const Job*>;

    List* list_of(const Job& job) noexcept;
    static Place place_of(const Job& job) noexcept;
    void link(const Job& job);
    void unlink(const Job& job);

    TextPool pool_;
    std::unordered_map<JobId, std::unique_ptr<Job>> jobs_;
    List pending_;
    List running_;
    List inactive_;
    Counts counts_;
};

} // namespace flux::job_list
