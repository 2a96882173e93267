#include "cmd/trace.hpp"

#include "cmd/output/color.hpp"
#include "cmd/output/convert.hpp"

#include <flux/error.hpp>
#include <flux/message.hpp>

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace flux::cmd {
namespace {

struct Type {
    MessageType type;
    std::string_view name;
    char symbol;
};
constexpr std::array<Type, 4> types = {{{MessageType::request, "request", '>'},
                                        {MessageType::response, "response", '<'},
                                        {MessageType::event, "event", 'e'},
                                        {MessageType::control, "control", 'c'}}};

int type_mask(const std::vector<std::string>& names) {
    int mask = 0;
    for (const auto& name : names) {
        int bit = 0;
        for (const auto& type : types)
            if (type.name == name) bit = static_cast<int>(type.type);
        if (!bit) throw Error(EINVAL, "--type: unknown message type '" + name + "'");
        mask |= bit;
    }
    for (const auto& type : types)
        if (names.empty()) mask |= static_cast<int>(type.type);
    return mask;
}

std::string size_text(double bytes) {
    constexpr double step = 1024;
    for (const char* unit : {"", "K", "M"}) {
        if (bytes < step) return fmt::format("{:.4g}{}", bytes, unit);
        bytes /= step;
    }
    return fmt::format("{:.4g}G", bytes);
}

std::string iso_milliseconds(double timestamp) {
    auto milliseconds = static_cast<int>(std::fmod(timestamp, 1) * 1000);
    return fmt::format("{}.{:03}", output::local_time(timestamp, "%FT%T"), milliseconds);
}

std::string result_text(JsonView record) {
    auto errnum = record.get_or("errnum", 0);
    if (errnum == 0) return " success";
    const char* name = ::strerrorname_np(errnum);
    return fmt::format(" {}", name ? name : std::to_string(errnum));
}

} // namespace

Trace::Trace(std::string service_topic, const options::Parsed& parsed, std::string_view topic_glob)
    : topic(std::move(service_topic)),
      full(parsed.has("full")),
      human(parsed.has("human")),
      color(choose_color(parsed)),
      time(parsed.has("delta")) {
    if (parsed.has("delta") && !human) throw Error(EINVAL, "--delta can only be used with --human");
    payload = Json::object("typemask", type_mask(parsed.list("type")), "topic_glob", topic_glob, "full", full);
}

Task<int> run_trace(Handle* handle, Trace* trace, std::string (*who)(JsonView record)) {
    auto painted = [&](std::string_view color, const std::string& text) {
        return trace->color ? fmt::format("{}{}{}", color, text, output::sgr::plain_reset) : text;
    };
    auto records = handle->stream(trace->topic, std::move(trace->payload));
    while (auto answer = co_await records.next()) {
        auto record = answer->json();
        auto timestamp = record.get<double>("timestamp");
        auto type = static_cast<MessageType>(record.get<int>("type"));
        char symbol = '?';
        for (const auto& known : types)
            if (known.type == type) symbol = known.symbol;
        auto when = trace->human ? trace->time.next(timestamp).text : iso_milliseconds(timestamp);
        fmt::print("{} {} {} {} [{}]{}\n", painted(output::sgr::green, when), painted(output::sgr::yellow, who(record)),
                   symbol, record.get<std::string_view>("topic"), size_text(record.get_or("payload_size", 0.0)),
                   type == MessageType::response ? result_text(record) : std::string());
        if (auto payload = record["payload"]; trace->full && payload && !payload.is_null())
            fmt::print("{}\n", payload.dump());
        std::fflush(stdout);
    }
    co_return 0;
}

} // namespace flux::cmd
