// Where R comes from on rank 0 (resources-sched.md 2.3): the configuration, the KVS, the job of the parent instance, or
// what the ranks find on their hosts; and whether the hosts have what it says.
#pragma once

#include "journal.hpp"
#include "options.hpp"
#include "parent.hpp"
#include "state.hpp"

#include <optional>
#include <string>

namespace flux::resource {

class Inventory {
public:
    /// Whose job this instance is.
    class Origin {
    public:
        Origin(std::string uri, JobId job) : uri(std::move(uri)), job(job) {}
        std::string uri;
        JobId job;
    };
    /// How the rest of the module is told.
    class Report {
    public:
        Report() {}
        std::function<void(LogLevel, const std::string&)> log;
        std::function<void(const Error&)> failed; ///< there will be no R
    };

    Inventory(Handle& handle, Scope& scope, const Options& options, State& state, Journal& journal, std::uint32_t size,
              Report report);

    /// Find R. With `configured` or `stored` (the value of the KVS key) it is known at once, else later.
    void start(std::optional<ResourceSet> configured, const std::optional<std::string>& stored,
               std::optional<Origin> origin);
    /// Ranks have found this on their hosts.
    void found(const ResourceSet& resources);
    /// An event was applied.
    void defined();

    /// Use this R from now on, as soon as it is durable.
    void define(ResourceSet R, std::string method, Journal::Done done = {});
    /// The time of the whole instance changes.
    void update_expiration(double expiration, Journal::Done done = {});

private:
    static Task<> ask_parent(Inventory* self, Origin origin);
    void use_parent(ResourceSet R);
    void discover();
    bool verifies() const;
    void verify(const ResourceSet& resources);

    Handle& handle_;
    Scope& scope_;
    const Options& options_;
    State& state_;
    Journal& journal_;
    std::uint32_t size_;
    Report report_;
    ResourceSet found_;
    bool known_ = false;       // R is defined or about to be
    bool discovering_ = false; // R is what is found
    double expiration_ = 0;    // of the job that we are
};

} // namespace flux::resource
