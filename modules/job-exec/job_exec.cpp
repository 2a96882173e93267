// Module job-exec: on every rank the agent, which runs job shells; on rank 0 also the coordinator, which runs jobs.
#include "agent.hpp"
#include "coordinator.hpp"

#include <flux/job_exec_protocol.hpp>
#include <flux/module.hpp>

namespace flux::job_exec {
namespace {

namespace protocol = job_exec_protocol;

class JobExec final : public Module {
public:
    explicit JobExec(ModuleContext& context)
        : Module(context),
          settings_(Settings::decode(config(), args(), configured())),
          agent_(handle(), scope(), rank(), settings_) {}

    Task<> start() override {
        serve_stats(protocol::stats_get);
        if (rank() == 0) {
            auto owner = static_cast<std::uint32_t>(std::stoul(attr("security.owner")));
            coordinator_ = std::make_unique<Coordinator>(handle(), scope(), settings_, owner);
        } else {
            serve(protocol::critical_ranks, &JobExec::forward);
            serve(protocol::override_event, &JobExec::forward);
        }
        co_await add_service(std::string(exec_agent_protocol::service));
        co_await agent_.start();
        if (coordinator_) co_await coordinator_->start();
    }

    void config_changed(JsonView config) override {
        settings_ = Settings::decode(config, args(), configured());
        agent_.configure();
    }

    Json stats() override {
        auto stats = coordinator_ ? coordinator_->stats() : settings_.to_json();
        stats.set("agent", agent_.stats());
        return stats;
    }

    std::optional<Json> park(const Request& request) override {
        if (!agent_.is_session(request)) return std::nullopt;
        return Json::object();
    }
    void resume(Request request, JsonView) override { agent_.resume_session(std::move(request)); }

private:
    // Brokers of a configured instance come back.
    bool configured() const { return attr("broker.boot-method") == "config"; }

    // Clients ask their own broker; the coordinator is on rank 0.
    Task<> forward(Request request) {
        auto options = CallOptions().rank(0).credentials(request.credentials());
        auto topic = request.message().topic;
        auto payload = request.message().payload;
        co_await handle().call(topic, std::move(payload), options);
        request.respond();
    }

    Settings settings_;
    Agent agent_;
    std::unique_ptr<Coordinator> coordinator_; // rank 0
};

} // namespace
} // namespace flux::job_exec

FLUX_MODULE(flux::job_exec::JobExec, "job-exec")
