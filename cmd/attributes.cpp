// flux getattr, setattr, lsattr (cli.md 6.23).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

namespace flux::cmd {
namespace {

Task<int> get(Handle* handle, std::string name) {
    auto payload = Json::object("name", name);
    try {
        auto reply = co_await handle->call("attr.get", std::move(payload));
        fmt::print("{}\n", reply.json().get<std::string_view>("value"));
    } catch (const Error& error) {
        throw error.while_doing(name);
    }
    co_return 0;
}

Task<int> set(Handle* handle, std::string name, std::string value, bool force) {
    auto payload = Json::object("name", name, "value", value);
    if (force) payload.set("force", true);
    co_await handle->call("attr.set", std::move(payload));
    co_return 0;
}

Task<int> list(Handle* handle, bool values) {
    auto reply = co_await handle->call("attr.list");
    auto names = reply.json().get<std::vector<std::string>>("names");
    std::sort(names.begin(), names.end());
    for (const auto& name : names) {
        if (!values) {
            fmt::print("{}\n", name);
            continue;
        }
        std::string value = "-";
        auto payload = Json::object("name", name);
        try {
            auto answer = co_await handle->call("attr.get", std::move(payload));
            value = answer.json().get<std::string>("value");
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
        fmt::print("{:<40}{}\n", name, value);
    }
    co_return 0;
}

int run_get(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    return context.run(&get, &context.handle(), parsed.operands()[0]);
}

int run_set(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 2) throw parsed.usage_error();
    return context.run(&set, &context.handle(), parsed.operands()[0], parsed.operands()[1], parsed.has("force"));
}

int run_list(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&list, &context.handle(), parsed.has("values"));
}

constexpr options::Option set_options[] = {
    {.name = "force", .key = 'f', .help = "set even when the broker would not let it be updated"},
};
constexpr options::Option list_options[] = {
    {.name = "values", .key = 'v', .help = "list values too"},
};

} // namespace

extern const options::Command cmd_getattr;
extern const options::Command cmd_setattr;
extern const options::Command cmd_lsattr;
const options::Command cmd_getattr{.name = "getattr",
                                   .program = "flux-getattr",
                                   .synopsis = "NAME",
                                   .help = "Get a broker attribute",
                                   .run = &run_get};
const options::Command cmd_setattr{.name = "setattr",
                                   .program = "flux-setattr",
                                   .synopsis = "[OPTIONS] NAME VALUE",
                                   .help = "Set a broker attribute",
                                   .options = set_options,
                                   .run = &run_set};
const options::Command cmd_lsattr{.name = "lsattr",
                                  .program = "flux-lsattr",
                                  .synopsis = "[OPTIONS]",
                                  .help = "List broker attributes",
                                  .options = list_options,
                                  .run = &run_list};

} // namespace flux::cmd
