#include "cmd/follow/output_printer.hpp"

#include <flux/io_data.hpp>

#include <fmt/core.h>

#include <string_view>

namespace flux::follow {
namespace {

std::string_view level_label(int level) {
    if (level <= 2) return "FATAL: ";
    switch (level) {
    case 3: return "ERROR: ";
    case 4: return " WARN: ";
    case 5: return "";
    case 6: return "DEBUG: ";
    default: return "TRACE: ";
    }
}

void write(FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

} // namespace

void OutputPrinter::print(const EventlogEntry& event) {
    if (event.name == "data")
        print_data(event.context);
    else if (event.name == "redirect")
        print_redirect(event.context);
    else if (event.name == "log")
        print_log(event);
}

void OutputPrinter::print_data(JsonView context) {
    auto io = IoData::decode(context);
    if (io.data.empty() || (skip_first_task_ && io.rank == "0")) return;
    FILE* file = io.stream == "stderr" ? err_ : out_;
    if (!label_ && prefix_.empty()) {
        write(file, io.data);
    } else {
        auto label = prefix_ + (label_ ? io.rank + ": " : "");
        for (std::string_view rest = io.data; !rest.empty();) {
            auto line = rest.substr(0, rest.find('\n') == rest.npos ? rest.size() : rest.find('\n') + 1);
            write(file, label);
            write(file, line);
            rest.remove_prefix(line.size());
        }
    }
    std::fflush(file);
}

void OutputPrinter::print_redirect(JsonView context) {
    if (quiet_) return;
    auto path = context.get_optional<std::string>("path");
    fmt::print(err_, "{}{}: {} redirected{}\n", prefix_, context.get<std::string_view>("rank"),
               context.get<std::string_view>("stream"), path ? " to " + *path : "");
}

void OutputPrinter::print_log(const EventlogEntry& event) {
    JsonView context = event.context;
    std::string source;
    if (auto rank = context.get_or("rank", -1); rank >= 0) source = fmt::format("[{}]", rank);
    auto component = context.get_or("component", std::string());
    if (!component.empty()) component += ": ";
    std::string place;
    if (auto file = context.get_optional<std::string>("file"); file && verbose_)
        place = fmt::format("{}:{}: ", *file, context.get_or("line", 0));
    fmt::print(err_, "{}{:.3f}s: flux-shell{}: {}{}{}{}\n", prefix_, event.timestamp - time_base_, source,
               level_label(context.get<int>("level")), component, place, context.get<std::string_view>("message"));
}

} // namespace flux::follow
