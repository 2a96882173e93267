#include "core.hpp"

#include <flux/jobspec.hpp>
#include <flux/kvs_protocol.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>

namespace flux::job_manager {

namespace {

double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

} // namespace

Core::Core(Handle& handle, Scope& scope, Surroundings& surroundings)
    : handle(handle),
      scope(scope),
      archive(handle),
      writer(handle, kvs::WriterOptions().flags(kvs_protocol::wait_space)),
      ledger(
          [this, &surroundings](kvs::Transaction transaction, Ledger::Effect durable) {
              writer.add(std::move(transaction), [&surroundings, durable = std::move(durable)](const Error* failure) {
                  if (failure)
                      surroundings.on_store_failure(*failure);
                  else
                      durable();
              });
          },
          [this] {
              this->handle.loop().post([this, alive = std::weak_ptr<char>(alive_)] {
                  if (alive.lock()) flush();
              });
          }),
      engine(jobs, plugins, ledger, surroundings, wall_clock) {}

void Core::save_checkpoint() {
    checkpoint_dirty = true;
    ledger.transaction();
}

void Core::flush() {
    if (checkpoint_dirty) {
        checkpoint_dirty = false;
        auto checkpoint = Json::object("version", 1, "max_jobid", max_id, "queue", queues.save());
        checkpoint.set("epoch", epoch);
        checkpoint.set("inactive_jobs", inactive);
        checkpoint.set("starttime", starttime);
        checkpoint.set("jobtap", plugin_record.encode());
        ledger.transaction().put_json(checkpoint_key, checkpoint);
    }
    ledger.flush();
}

void Core::require_public(const Request& request) const {
    if (private_mode && !(request.credentials().rolemask & (role_owner | role_admin))) throw Error(EPERM);
}

Job* Core::find_active(JobId id) noexcept {
    auto* job = jobs.find(id);
    return job && job->active() ? job : nullptr;
}

void Core::refuse_absent(Request request, JobId id, int unknown, int inactive) {
    scope.spawn("absent job", &Core::refuse, this, std::move(request), id, unknown, inactive);
}

Task<> Core::refuse(Core* core, Request request, JobId id, int unknown, int inactive) {
    bool known = core->jobs.find(id);
    if (!known) {
        try {
            auto value = co_await kvs::lookup(core->handle, job_key(id, "eventlog"), kvs::LookupOptions().treeobj());
            known = true;
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
    }
    if (known)
        request.fail(inactive, "job is inactive");
    else
        request.fail(unknown, "unknown job id");
}

std::string queue_of(const Job& job) {
    if (!job.jobspec.is_object()) return {};
    return JobspecView(job.jobspec).queue();
}

void require_own(const Request& request, const Job& job, std::string_view what) {
    if (!request.credentials().may_act_for(job.userid)) throw Error(EPERM, fmt::format("guests {}", what));
}

} // namespace flux::job_manager
