// .post-event: the owner may post any event to an active job.
#include "builtins.hpp"

#include <flux/job_manager_protocol.hpp>

namespace flux::job_manager {

namespace {

class PostEvent final : public JobtapPlugin {
public:
    explicit PostEvent(JobtapHost& host) : JobtapPlugin(host) {
        host.serve("post", MethodClass::once, role_owner, [this](Request request) { post(std::move(request)); });
    }

private:
    void post(Request request) {
        auto payload = request.json();
        auto id = payload.get<JobId>("id");
        auto name = payload.get<std::string>("name");
        Json context;
        if (auto given = payload["context"]) {
            if (!given.is_object()) throw Error(EPROTO, "context is no object");
            context = given.copy();
        }
        host().post(id, name, std::move(context));
        host().when_durable([request] { request.respond(); });
    }
};

} // namespace

std::unique_ptr<JobtapPlugin> make_post_event(JobtapHost& host) { return std::make_unique<PostEvent>(host); }

} // namespace flux::job_manager
