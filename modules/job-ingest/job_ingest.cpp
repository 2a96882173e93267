// job-ingest, on every rank: takes signed job requests, checks them, gives them ids and hands them to job-manager,
// which stores and accepts them. Nothing durable here: a request is answered when job-manager has answered. Reload:
// what was begun is finished, what arrived meanwhile waits for the new instance.
#include "defaults.hpp"
#include "request.hpp"

#include <flux/fluid.hpp>
#include <flux/hostlist.hpp>
#include <flux/job_ingest_protocol.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/jobspec.hpp>
#include <flux/module.hpp>
#include <flux/overlay_protocol.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace flux::job_ingest {

namespace {

namespace protocol = job_ingest_protocol;
using Clock = FluidGenerator::TimePoint::clock;

// What goes to job-manager at a time: enough to be worth it, little enough not to keep others waiting.
constexpr std::size_t batch_jobs = 1000;
constexpr std::size_t batch_bytes = std::size_t(4) << 20;
// Requests that wait for the batch in flight; more are refused, as nobody gains from a longer queue.
constexpr std::size_t queue_limit = 100000;
// Between attempts when job-manager cannot be reached.
constexpr auto first_delay = std::chrono::milliseconds(50);
constexpr auto last_delay = std::chrono::milliseconds(1000);

double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class JobIngest final : public Module {
public:
    using Module::Module;
    Task<> start() override;
    Json stats() override;

private:
    void submit(Request request);
    Task<> pass_on(Request request);
    void getinfo(Request request);
    void disconnect(Request request);
    Task<> watch_path();
    Task<std::uint64_t> start_timestamp();
    void check(Submission& submission);
    void send_batch();
    void on_answer(const Message& answer);

    struct Accepted {
        Accepted(Request request, JobId id, Submission submission)
            : request(std::move(request)), id(id), submission(std::move(submission)) {}
        Request request; // keeps what the submission's J points to
        JobId id;
        Submission submission;
    };

    Policy policy_;
    std::optional<Hostlist> hosts_;
    std::optional<FluidGenerator> ids_; // none: this rank passes requests on to the one above
    std::deque<Accepted> waiting_;
    std::vector<Accepted> batch_; // in flight
    bool held_ = false;           // job-manager is out of reach; who goes meanwhile leaves no job
    std::optional<Timer> retry_;
    std::chrono::milliseconds delay_ = first_delay;
    std::uint64_t defaults_requests_ = 0;
    std::uint64_t defaults_errors_ = 0;
    std::uint64_t validator_requests_ = 0;
    std::uint64_t validator_errors_ = 0;
    std::shared_ptr<char> alive_ = std::make_shared<char>(); // callbacks may come too late
};

Task<> JobIngest::start() {
    serve(protocol::submit, &JobIngest::submit);
    serve(protocol::getinfo, &JobIngest::getinfo);
    serve_stats(protocol::stats_get);
    serve(protocol::disconnect, &JobIngest::disconnect);
    policy_.owner = static_cast<std::uint32_t>(std::stoul(attr("security.owner")));
    policy_.allow_root = arg("allow-root-jobs").has_value();
    retry_.emplace(loop(), [this] { send_batch(); });
    if (rank() > 0) spawn("watch path", &JobIngest::watch_path, this);
    if (auto list = co_await handle().get_attr("hostlist")) hosts_ = Hostlist::parse(*list);
    auto limit = std::min<std::size_t>(FluidGenerator::max_generator,
                                       std::stoul(arg("max-fluid-generator-id").value_or("16383")));
    if (rank() > limit) co_return;
    auto timestamp = co_await start_timestamp();
    ids_.emplace(rank(), timestamp, Clock::now());
}

// Ids of this start are above those of every earlier one, also when an older store was restored.
Task<std::uint64_t> JobIngest::start_timestamp() {
    if (rank() > 0) {
        auto above = co_await call(protocol::getinfo.topic, CallOptions().upstream());
        co_return above.json().get<std::uint64_t>("timestamp");
    }
    auto info = co_await call(job_manager_protocol::getinfo.topic);
    auto newest = info.json().get<JobId>("max_jobid");
    auto epoch = info.json().get_or("epoch", 0.0);
    if (newest.value() == 0) co_return 0;
    auto since = epoch > 0 ? std::max(0.0, (wall_clock() - epoch) * 1000) : 0.0;
    co_return std::max(newest.timestamp() + 1, static_cast<std::uint64_t>(since));
}

void JobIngest::getinfo(Request request) {
    if (!ids_) throw Error(ENOSYS, "this rank makes no job ids");
    request.respond(Json::object("timestamp", ids_->timestamp(Clock::now())));
}

void JobIngest::disconnect(Request request) {
    std::erase_if(waiting_, [&](const Accepted& job) {
        if (!job.request.same_sender(request)) return false;
        job.request.drop();
        return true;
    });
}

Task<> JobIngest::watch_path() {
    auto path = handle().stream(overlay_protocol::path.topic);
    while (auto update = co_await path.next()) {
        held_ = update->json().get<std::string_view>("state") == "held";
        send_batch();
    }
}

void JobIngest::check(Submission& submission) {
    auto disabled = [this](const char* key) { return config().find(key).try_as<bool>().value_or(false); };
    if (!disabled("ingest.frobnicator.disable")) {
        ++defaults_requests_;
        ++defaults_errors_;
        apply_defaults(submission.jobspec, config());
        --defaults_errors_;
    }
    if ((submission.flags & job_flag_novalidate) || disabled("ingest.validator.disable") || arg("disable-validator"))
        return;
    ++validator_requests_;
    ++validator_errors_;
    JobspecRules rules;
    if (hosts_) rules.hosts = &*hosts_;
    validate_jobspec(submission.jobspec, rules);
    --validator_errors_;
}

void JobIngest::submit(Request request) {
    if (!ids_) return spawn("pass on", &JobIngest::pass_on, this, std::move(request));
    auto submission = check_request(request.json(), request.credentials(), policy_);
    check(submission);
    submission.jobspec["attributes"]["system"].erase("environment");
    if (waiting_.size() >= queue_limit) throw Error(EAGAIN, "too many job requests wait, try again later");
    waiting_.emplace_back(std::move(request), ids_->next(Clock::now()), std::move(submission));
    // What arrives in the same turn goes together.
    if (!batch_.empty() || waiting_.size() > 1) return;
    loop().post([this, alive = std::weak_ptr<char>(alive_)] {
        if (alive.lock()) send_batch();
    });
}

Task<> JobIngest::pass_on(Request request) {
    auto options = CallOptions().upstream().credentials(request.credentials());
    auto answer = co_await handle().call(protocol::submit.topic, request.message().payload, options);
    request.respond(answer.payload);
}

void JobIngest::send_batch() {
    if (!batch_.empty() || waiting_.empty() || held_ || retry_->active()) return;
    auto now = wall_clock();
    auto jobs = Json::array();
    std::size_t bytes = 0;
    while (!waiting_.empty() && batch_.size() < batch_jobs && bytes < batch_bytes) {
        auto& job = batch_.emplace_back(std::move(waiting_.front()));
        waiting_.pop_front();
        auto& submission = job.submission;
        bytes += submission.J.size();
        jobs.append(Json::object("id", job.id, "userid", submission.userid, "urgency", submission.urgency, "t_submit",
                                 now, "flags", submission.flags, "jobspec", submission.jobspec.copy(), "J",
                                 submission.J));
    }
    auto call = handle().call(job_manager_protocol::submit.topic, Json::object("jobs", std::move(jobs)));
    std::move(call).then([this, alive = std::weak_ptr<char>(alive_)](Message answer) {
        if (alive.lock()) on_answer(answer);
    });
}

void JobIngest::on_answer(const Message& answer) {
    int errnum = answer.errnum();
    if (errnum == EHOSTUNREACH || errnum == EAGAIN || errnum == ENOSYS || errnum == ETIMEDOUT) {
        // Its fate is unknown, or nobody was there; job-manager takes a job once, however often it is handed over.
        waiting_.insert(waiting_.begin(), std::move_iterator(batch_.begin()), std::move_iterator(batch_.end()));
        batch_.clear();
        retry_->start(delay_);
        delay_ = std::min(delay_ * 2, last_delay);
        return;
    }
    delay_ = first_delay;
    std::unordered_map<JobId, std::string> errors;
    if (errnum == 0) {
        for (auto error : answer.json()["errors"].elements())
            errors.emplace(error[0].as<JobId>(), error[1].as<std::string>());
    }
    auto batch = std::move(batch_);
    batch_.clear();
    for (auto& job : batch) {
        auto error = errors.find(job.id);
        if (errnum != 0)
            job.request.fail(errnum, answer.error_text());
        else if (error != errors.end())
            job.request.fail(EINVAL, error->second);
        else
            job.request.respond(Json::object("id", job.id));
    }
    send_batch();
}

Json JobIngest::stats() {
    // The pipeline has no processes of its own.
    auto stage = [](std::uint64_t requests, std::uint64_t errors) {
        return Json::object("running", 0, "requests", requests, "errors", errors, "trash", 0, "backlog", 0, "pids",
                            Json::array_of(0, 0, 0, 0));
    };
    return Json::object("pipeline", Json::object("frobnicator", stage(defaults_requests_, defaults_errors_),
                                                 "validator", stage(validator_requests_, validator_errors_)));
}

} // namespace

} // namespace flux::job_ingest

FLUX_MODULE(flux::job_ingest::JobIngest, "job-ingest")
