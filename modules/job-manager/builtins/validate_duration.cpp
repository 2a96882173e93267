// .validate-duration: a job cannot ask for more time than the instance has left itself.
#include "builtins.hpp"

#include <flux/jobspec.hpp>
#include <flux/kvs.hpp>
#include <flux/service_watch.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>

namespace flux::job_manager {

namespace {

double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class ValidateDuration final : public JobtapPlugin {
public:
    explicit ValidateDuration(JobtapHost& host)
        : JobtapPlugin(host), kvs_watch_(host.handle(), host.scope(), "kvs-watch") {
        host.scope().spawn("follow resource.R", &ValidateDuration::follow, this);
    }

    void job_validate(const JobtapJob& job) override {
        if (expiration_ <= 0) return;
        auto left = expiration_ - wall_clock();
        auto duration = JobspecView(job.jobspec).duration();
        if (duration > left)
            throw Error(EINVAL, fmt::format("job duration ({:.1f}s) exceeds remaining instance lifetime ({:.1f}s)",
                                            duration, left));
    }

private:
    static Task<> follow(ValidateDuration* self) {
        for (;;) {
            auto seen = self->kvs_watch_.changes();
            try {
                co_await self->follow_once();
            } catch (const Cancelled&) {
                throw;
            } catch (const Error& error) {
                self->host().handle().log(LogLevel::debug,
                                          fmt::format("follow resource.R: {}, ignoring", error.what()));
            }
            co_await self->kvs_watch_.up_since(seen);
        }
    }

    Task<> follow_once() {
        kvs::Watch watch(host().handle(), "resource.R", kvs::WatchOptions().wait_create());
        while (auto R = co_await watch.next()) {
            auto object = R->json();
            expiration_ = object.find("execution.expiration").try_as<double>().value_or(0);
        }
    }

    ServiceWatch kvs_watch_;
    double expiration_ = 0; // of the instance; 0: none
};

} // namespace

std::unique_ptr<JobtapPlugin> make_validate_duration(JobtapHost& host) {
    return std::make_unique<ValidateDuration>(host);
}

} // namespace flux::job_manager
