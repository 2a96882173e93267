// Throws exceptions of its own type wherever a callback has nothing to refuse.
#include <flux/jobtap.hpp>

namespace {

class Rude final : public std::exception {
public:
    const char* what() const noexcept override { return "rude answer"; }
};

class Bad final : public flux::JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;
    void job_depend(const flux::JobtapJob&) override { throw Rude(); }
    void job_run(const flux::JobtapJob& job) override {
        host().when_durable([] { throw Rude(); });
        host().epilog_finish(job.id, "none", 0);
        throw Rude();
    }
    void job_cleanup(const flux::JobtapJob&) override { throw Rude(); }
    void job_inactive(const flux::JobtapJob&) override { throw 1; }
    void job_event(const flux::JobtapJob&, const flux::EventlogEntry&) override { throw Rude(); }
    void job_destroy(const flux::JobtapJob&) override { throw Rude(); }
    void job_inactive_add(const flux::JobtapJob&) override { throw Rude(); }
    flux::Json query() override { throw Rude(); }
};

} // namespace

FLUX_JOBTAP_PLUGIN(Bad)
