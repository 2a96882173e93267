// What the parts of the module work on together.
#pragma once

#include "archive.hpp"
#include "engine.hpp"
#include "jobs.hpp"
#include "ledger.hpp"
#include "plugin_record.hpp"
#include "plugins.hpp"
#include "queues.hpp"

#include <flux/handle.hpp>
#include <flux/kvs_writer.hpp>

#include <map>
#include <memory>

namespace flux::job_manager {

struct Core {
    Core(Handle& handle, Scope& scope, Surroundings& surroundings);

    Handle& handle;
    Scope& scope;
    std::uint32_t owner = 0; ///< the instance owner, in whose name the services raise exceptions
    Jobs jobs;
    /// Jobs that are over and were read for plugins to look up during the request in hand.
    std::map<JobId, std::unique_ptr<Job>> references;
    Plugins plugins;
    PluginRecord plugin_record;
    Queues queues;
    Archive archive;
    kvs::Writer writer;
    Ledger ledger;
    Engine engine;

    bool private_mode = false; ///< users are told of nothing but their own jobs
    JobId max_id{0};
    double epoch = 0;          ///< when a job id's timestamp would have been 0; 0: no job yet
    std::int64_t inactive = 0; ///< jobs in the store that are over
    bool checkpoint_dirty = false;
    double starttime = 0; ///< of the instance, as in the checkpoint: tells a restart from a reload

    /// Have the checkpoint written with the batch that is being gathered.
    void save_checkpoint();
    /// Give what was gathered to the store.
    void flush();

    /// \throws Error EPERM when the requester is a mere user and the instance is in private mode
    void require_public(const Request& request) const;
    /// Tell each plugin; what fails is logged.
    template <class F> void tell_plugins(F&& visit) {
        plugins.tell(visit, [this](const std::string& text) { handle.log(LogLevel::err, text); });
    }
    /// An active job; null when it is not.
    Job* find_active(JobId id) noexcept;
    /// Answer a request about a job that is not active: `unknown job id` or `job is inactive`, with these errnums.
    void refuse_absent(Request request, JobId id, int unknown, int inactive);
    void refuse_absent(Request request, JobId id, int errnum) { refuse_absent(std::move(request), id, errnum, errnum); }

private:
    std::shared_ptr<char> alive_ = std::make_shared<char>(); // what was posted to the loop may come too late
    static Task<> refuse(Core* core, Request request, JobId id, int unknown, int inactive);
};

/// What a job's queue is called; empty for the anonymous one.
std::string queue_of(const Job& job);
/// \throws Error EPERM `guests WHAT` when the requester is neither the owner of the instance nor of the job.
void require_own(const Request& request, const Job& job, std::string_view what);

} // namespace flux::job_manager
