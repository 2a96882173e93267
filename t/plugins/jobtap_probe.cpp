// Shows which callbacks were called for each job, in `query`; does a little of everything that a plugin may do.
#include <flux/jobtap.hpp>

#include <cerrno>
#include <map>

using namespace flux;

namespace {

class Probe final : public JobtapPlugin {
public:
    explicit Probe(JobtapHost& host) : JobtapPlugin(host) {
        host.serve("release", MethodClass::once, role_owner, [this](Request request) {
            this->host().dependency_remove(request.json().get<JobId>("id"), "probe");
            this->host().when_durable([request] { request.respond(); });
        });
        host.scope().spawn("wait", &Probe::wait, this);
    }
    ~Probe() override { host().log(LogLevel::info, "good bye"); }

    void conf_update(JsonView config) override {
        if (config.find("probe.refuse")) throw Error(EINVAL, "probe.refuse is set");
    }
    Json query() override {
        auto calls = Json::object();
        for (auto& [id, text] : calls_) calls.set(id.f58plain(), text);
        return Json::object("calls", std::move(calls), "arguments", host().arguments().copy(), "durable", durable_);
    }

    void job_create(const JobtapJob& job) override { add(job, "create"); }
    void job_validate(const JobtapJob& job) override {
        add(job, "validate");
        if (job.jobspec.find("attributes.system.probe.reject")) throw Error(EPERM, "the probe rejects this job");
    }
    void job_new(const JobtapJob& job) override {
        add(job, "new");
        host().when_durable([this] { ++durable_; });
    }
    bool job_dependency(const JobtapJob& job, std::string_view scheme, JsonView) override {
        if (scheme != "probe") return false;
        add(job, "dependency");
        host().dependency_add(job.id, "probe");
        return true;
    }
    void job_depend(const JobtapJob& job) override { add(job, "depend"); }
    Priority job_priority(const JobtapJob&) override {
        auto priority = host().arguments().get_optional<std::int64_t>("priority");
        return priority ? Priority(*priority) : Priority::none();
    }
    std::optional<Json> job_sched(const JobtapJob& job) override {
        add(job, "sched");
        auto R = job.jobspec.find("attributes.system.probe.R");
        if (!R) return std::nullopt;
        return R.copy();
    }
    void job_run(const JobtapJob& job) override {
        add(job, "run");
        host().prolog_start(job.id, "probe");
        host().prolog_finish(job.id, "probe", 0);
        host().annotate(job.id, Json::object("user", Json::object("probe", "was here")));
    }
    void job_cleanup(const JobtapJob& job) override { add(job, "cleanup"); }
    void job_inactive(const JobtapJob& job) override { add(job, "inactive"); }
    void job_update(const JobtapJob& job, JsonView) override { add(job, "update"); }
    bool job_update_key(const JobtapJob&, JobtapUpdate& update) override {
        return update.key == "attributes.system.probe.note";
    }
    void job_destroy(const JobtapJob& job) override { add(job, "destroy"); }

private:
    static Task<> wait(Probe* self) {
        co_await self->forever_.wait(); // ended when the plugin is removed
    }
    void add(const JobtapJob& job, const char* what) { calls_[job.id] += std::string(what) + " "; }

    std::map<JobId, std::string> calls_;
    unsigned durable_ = 0; // jobs that have a record
    Condition forever_;
};

} // namespace

FLUX_JOBTAP_PLUGIN(Probe)
