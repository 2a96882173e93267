// modules/sched-simple — the default scheduler: strict priority, first come first served, nobody overtakes. Nothing is
// durable; reload: hello.
#include "service/service.hpp"

namespace flux {

class SchedSimple final : public sched_service::Service {
public:
    explicit SchedSimple(ModuleContext& context) : Service(context, "8") {}

private:
    std::unique_ptr<sched::Policy> make_policy() const override { return std::make_unique<sched::StrictFifo>(); }
};

} // namespace flux

FLUX_MODULE(flux::SchedSimple, "sched-simple")
