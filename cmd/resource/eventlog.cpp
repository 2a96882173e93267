// flux resource eventlog: what happened to resources
#include "cmd/event_options.hpp"
#include "cmd/resource/commands.hpp"

#include <flux/eventlog.hpp>
#include <flux/hostlist.hpp>
#include <flux/resource_protocol.hpp>

#include <cerrno>

namespace flux::cmd::resource {
namespace {

class Plan {
public:
    explicit Plan(const options::Parsed& parsed) : printer(parsed), follow(parsed.has("follow")) {
        if (auto name = parsed.find("wait")) match.emplace(parsed, *name);
    }
    EventPrinter printer;
    bool follow;
    std::optional<EventMatch> match;
    std::string include; ///< idset or hostlist
    std::exception_ptr failure;
};

/// Events that name no ranks concern all.
bool concerns(const EventlogEntry& event, const std::string& include) {
    if (include.empty()) return true;
    JsonView context = event.context;
    if (auto wanted = Idset::try_parse(include)) {
        for (const char* key : {"idset", "ranks"})
            if (auto ranks = context[key].try_as<Idset>()) return ranks->intersects(*wanted);
        return false;
    }
    auto hosts = context["nodelist"].try_as<Hostlist>();
    if (!hosts) return false;
    for (auto host : Hostlist::parse(include))
        if (hosts->contains(host)) return true;
    return false;
}

/// Runs in a scope of its own, which a time-out aborts.
Task<> follow(Handle* handle, Plan* plan) {
    try {
        auto options = CallOptions().rank(0).cancel_topic(std::string(resource_protocol::journal_cancel.topic));
        auto journal = handle->stream(resource_protocol::journal.topic, Json::object(), options);
        while (auto answer = co_await journal.next()) {
            auto events = answer->json()["events"];
            if (events.empty() && !plan->follow && !plan->match) co_return;
            for (auto json : events.elements()) {
                auto event = EventlogEntry::from_json(json);
                if (!concerns(event, plan->include)) continue;
                plan->printer.print(event);
                if (plan->match && plan->match->completed_by(event)) co_return;
            }
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        plan->failure = std::make_exception_ptr(error);
    }
}

Task<int> run_plan(Context* context, Plan* plan, std::optional<std::chrono::nanoseconds> timeout) {
    Scope scope(context->scope());
    Timer timer(context->loop(), [&] {
        plan->failure = std::make_exception_ptr(Error(ETIMEDOUT, "ETIMEDOUT: Connection timed out"));
        scope.abort();
    });
    if (timeout) timer.start(*timeout);
    scope.spawn("journal", &follow, &context->handle(), plan);
    co_await scope.drained();
    if (plan->failure) std::rethrow_exception(plan->failure);
    co_return 0;
}

} // namespace

int run_eventlog(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    Plan plan(parsed);
    plan.include = parsed.get("include");
    return context.run(&run_plan, &context, &plan, timeout_option(parsed));
}

} // namespace flux::cmd::resource
