// flux event: publish events and show them (cli.md 6.26).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/base64.hpp>

#include <fmt/core.h>

#include <cctype>
#include <cerrno>

namespace flux::cmd {
namespace {

class Event {
public:
    Event() {}
    std::string topic;
    Payload payload;
    bool is_private = false;
    bool synchronous = false;
    bool loopback = false;
};

std::uint8_t flags_of(const Event& event) { return event.is_private ? flag_private : 0; }

Task<int> publish(Handle* handle, Event event) {
    Condition arrived;
    bool seen = false;
    if (event.loopback) {
        auto on_event = [&](const Message& message) {
            if (message.topic != event.topic || message.payload.bytes() != event.payload.bytes()) return;
            seen = true;
            arrived.notify_all();
        };
        co_await handle->subscribe(event.topic, on_event, role_all);
    }
    if (event.synchronous) {
        auto request = Json::object("topic", event.topic, "flags", flags_of(event));
        if (event.payload) request.set("payload", base64_encode(event.payload.bytes()));
        auto leader = CallOptions().rank(0);
        auto answer = co_await handle->call("event.publish", std::move(request), leader);
        fmt::print("seq={}\n", answer.json().get<std::uint32_t>("seq"));
    } else {
        handle->publish(event.topic, event.payload, flags_of(event));
        handle->flush();
    }
    while (event.loopback && !seen) co_await arrived.wait();
    co_return 0;
}

int run_pub(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.empty()) throw parsed.usage_error();
    Event event;
    event.topic = words[0];
    std::string text;
    for (std::size_t index = 1; index < words.size(); ++index) text += index > 1 ? " " + words[index] : words[index];
    if (words.size() > 1) event.payload = parsed.has("raw") ? Payload::from_bytes(text) : Payload::from_text(text);
    event.is_private = parsed.has("private");
    event.synchronous = parsed.has("synchronous");
    event.loopback = parsed.has("loopback");
    return context.run(&publish, &context.handle(), event);
}

void print(const Message& message) {
    auto bytes = message.payload ? message.payload.bytes() : std::string_view();
    if (bytes.ends_with('\0')) bytes.remove_suffix(1);
    std::string text(bytes);
    for (char& c : text)
        if (!std::isprint(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80) c = '.';
    fmt::print("{}\t{}\n", message.topic, text);
    std::fflush(stdout);
}

Task<int> follow(Handle* handle, std::vector<std::string> topics, unsigned count) {
    if (topics.empty()) topics.push_back("");
    Condition arrived;
    unsigned seen = 0;
    for (const auto& topic : topics) {
        auto on_event = [&](const Message& message) {
            if (count && seen >= count) return;
            print(message);
            ++seen;
            arrived.notify_all();
        };
        co_await handle->subscribe(topic, on_event, role_all);
    }
    while (!count || seen < count) co_await arrived.wait();
    for (const auto& topic : topics) handle->unsubscribe(topic);
    co_return 0;
}

int run_sub(Context& context, const options::Parsed& parsed) {
    return context.run(&follow, &context.handle(), parsed.operands(), parsed.number<unsigned>("count", 0));
}

constexpr options::Option pub_options[] = {
    {.name = "raw", .key = 'r', .help = "Interpret event payload as raw."},
    {.name = "synchronous", .key = 's', .help = "Publish synchronously."},
    {.name = "loopback", .key = 'l', .help = "Wait for published event to be received."},
    {.name = "private", .key = 'p', .help = "Publish event with private flag."},
};
constexpr options::Option sub_options[] = {
    {.name = "count",
     .key = 'c',
     .value = options::Value::required,
     .argument = "COUNT",
     .help = "Process COUNT events then exit"},
};
constexpr options::Command subcommands[] = {
    {.name = "pub",
     .synopsis = "[OPTIONS] topic [payload]",
     .help = "Publish event",
     .options = pub_options,
     .run = &run_pub},
    {.name = "sub",
     .synopsis = "[OPTIONS] [topic...]",
     .help = "Subscribe to events",
     .options = sub_options,
     .run = &run_sub},
};

} // namespace

extern const options::Command cmd_event;
const options::Command cmd_event{.name = "event",
                                 .program = "flux-event",
                                 .synopsis = "COMMAND [OPTIONS]",
                                 .help = "Send and receive Flux events",
                                 .subcommands = subcommands};

} // namespace flux::cmd
