// modules/sched-backfill — the scheduler with EASY backfill: a later job may start if it is over before the head of the
// queue could start. Nothing is durable; reload: hello.
#include "service/service.hpp"

namespace flux {

class SchedBackfill final : public sched_service::Service {
public:
    explicit SchedBackfill(ModuleContext& context) : Service(context, "unlimited") {}

private:
    std::unique_ptr<sched::Policy> make_policy() const override { return std::make_unique<sched::EasyBackfill>(); }
};

} // namespace flux

FLUX_MODULE(flux::SchedBackfill, "sched-backfill")
