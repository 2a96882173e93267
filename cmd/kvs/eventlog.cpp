// flux kvs eventlog: eventlogs as values
#include "cmd/event_options.hpp"
#include "cmd/formats.hpp"
#include "cmd/kvs/commands.hpp"

#include <flux/eventlog.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd::kvs {
namespace {

namespace api = flux::kvs;

EventPrinter printer_of(const options::Parsed& parsed) {
    const bool human = parsed.has("human"), json = parsed.has("unformatted");
    const bool color_forced = parsed.has("color") && parsed.get("color", "always") == "always";
    if (json && (human || color_forced)) throw Error(EINVAL, "Do not specify --unformatted with --human or --color");
    return EventPrinter(human ? output::EventTime::human : output::EventTime::raw, choose_color(parsed), json);
}

/// Events of a value that comes in pieces.
class EventReader {
public:
    EventReader(Handle& handle, const std::string& key, const api::WatchOptions& options)
        : watch_(handle, key, options) {}

    /// The next event; nothing at the end.
    Task<std::optional<EventlogEntry>> next() {
        for (;;) {
            if (auto event = decoder_.next()) co_return std::move(event);
            auto value = co_await watch_.next();
            if (!value) co_return std::nullopt;
            decoder_.feed(value->bytes());
        }
    }

private:
    api::Watch watch_;
    EventlogDecoder decoder_;
};

Task<int> get(Handle* handle, const options::Parsed* parsed, EventPrinter* printer) {
    const auto& key = parsed->operands()[0];
    api::WatchOptions options;
    options.name_space(name_space(*parsed));
    if (parsed->has("waitcreate")) options.wait_create();
    if (parsed->has("watch"))
        options.append();
    else
        options.pieces_only();
    const auto count = parsed->number<unsigned>("count", 0);
    try {
        EventReader events(*handle, key, options);
        for (unsigned seen = 0; auto event = co_await events.next();) {
            printer->print(*event);
            if (++seen == count) break;
        }
    } catch (const Error& error) {
        throw about(key, error);
    }
    co_return 0;
}

Task<int> append(Handle* handle, const options::Parsed* parsed, api::Transaction* transaction) {
    auto options = api::CommitOptions().name_space(name_space(*parsed));
    try {
        co_await api::commit_once(*handle, *transaction, options);
    } catch (const Error& error) {
        throw about("kvs commit", error);
    }
    co_return 0;
}

class WaitPlan {
public:
    explicit WaitPlan(const options::Parsed& parsed)
        : key(parsed.operands()[0]),
          event(parsed.operands()[1]),
          printer(printer_of(parsed)),
          quiet(parsed.has("quiet")),
          verbose(parsed.has("verbose")) {
        options.name_space(name_space(parsed)).append();
        if (parsed.has("waitcreate")) options.wait_create();
    }
    std::string key;
    std::string event;
    EventPrinter printer;
    bool quiet;
    bool verbose;
    api::WatchOptions options;
    std::exception_ptr failure;
};

/// Runs in a scope of its own, which a time-out aborts.
Task<> find_event(Handle* handle, WaitPlan* plan) {
    try {
        EventReader events(*handle, plan->key, plan->options);
        for (bool found = false; !found;) {
            auto event = co_await events.next();
            if (!event) throw Error(ENODATA, "event '" + plan->event + "' never received");
            found = event->name == plan->event;
            if (plan->verbose || (found && !plan->quiet)) plan->printer.print(*event);
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        plan->failure = std::make_exception_ptr(
            error.errnum() == ENOENT ? Error(ENOENT, "eventlog path " + plan->key + " not found") : error);
    }
}

Task<int> wait_event(Context* context, WaitPlan* plan, std::optional<std::chrono::nanoseconds> timeout) {
    Scope search(context->scope());
    Timer timer(context->loop(), [&] {
        auto late = Error(ETIMEDOUT, "wait-event timeout on event '" + plan->event + "'");
        plan->failure = std::make_exception_ptr(late);
        search.abort();
    });
    if (timeout) timer.start(*timeout);
    search.spawn("wait-event", &find_event, &context->handle(), plan);
    co_await search.drained();
    if (plan->failure) std::rethrow_exception(plan->failure);
    co_return 0;
}

} // namespace

int run_eventlog_get(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    auto printer = printer_of(parsed);
    return context.run(&get, &context.handle(), &parsed, &printer);
}

int run_eventlog_append(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.size() < 2) throw parsed.usage_error();
    std::string text;
    for (auto word = words.begin() + 2; word != words.end(); ++word) text += text.empty() ? *word : " " + *word;
    Json event_context;
    if (!text.empty()) event_context = Json::parse(text, "context");
    EventlogEntry event(words[1], std::move(event_context));
    if (parsed.has("timestamp"))
        event = EventlogEntry(parsed.number<double>("timestamp", 0), event.name, event.context.copy());
    api::Transaction transaction;
    transaction.append(words[0], event.encode());
    return context.run(&append, &context.handle(), &parsed, &transaction);
}

int run_eventlog_wait_event(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 2) throw parsed.usage_error();
    WaitPlan plan(parsed);
    return context.run(&wait_event, &context, &plan, timeout_option(parsed));
}

} // namespace flux::cmd::kvs
