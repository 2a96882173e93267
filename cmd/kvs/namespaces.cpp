// flux kvs namespace, version, wait, getroot: namespaces and their versions
#include "cmd/kvs/commands.hpp"

#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd::kvs {
namespace {

namespace api = flux::kvs;

Task<int> getroot(Handle* handle, const options::Parsed* parsed) {
    try {
        auto root = co_await api::getroot(*handle, name_space(*parsed));
        if (parsed->has("owner")) fmt::print("{}\n", root.owner);
        if (parsed->has("sequence")) fmt::print("{}\n", root.sequence);
        if (parsed->has("blobref")) fmt::print("{}\n", root.ref.to_string());
        if (!parsed->has("owner") && !parsed->has("sequence") && !parsed->has("blobref"))
            fmt::print("{}\n", treeobj::encode(treeobj::make_dirref(root.ref)));
    } catch (const Error& error) {
        throw about("kvs getroot", error);
    }
    co_return 0;
}

Task<int> version(Handle* handle, std::string space) {
    try {
        auto root = co_await api::getroot(*handle, space);
        fmt::print("{}\n", root.sequence);
    } catch (const Error& error) {
        throw about("kvs version", error);
    }
    co_return 0;
}

Task<int> wait(Handle* handle, std::string space, std::int64_t sequence) {
    try {
        co_await api::wait_version(*handle, sequence, space);
    } catch (const Error& error) {
        throw about("kvs wait-version", error);
    }
    co_return 0;
}

Task<int> create(Handle* handle, const options::Parsed* parsed) {
    api::NamespaceOptions options;
    if (parsed->has("owner")) options.owner(parsed->number<std::uint32_t>("owner", userid_unknown));
    if (auto ref = parsed->find("rootref")) options.root(Blobref::parse(*ref));
    for (const auto& name : parsed->operands()) {
        try {
            co_await api::namespace_create(*handle, name, options);
        } catch (const Error& error) {
            throw error.while_doing(name);
        }
    }
    co_return 0;
}

Task<int> remove(Handle* handle, std::vector<std::string> names) {
    for (const auto& name : names) {
        try {
            co_await api::namespace_remove(*handle, name);
        } catch (const Error& error) {
            throw about(name, error);
        }
    }
    co_return 0;
}

Task<int> list(Handle* handle) {
    auto spaces = co_await api::namespace_list(*handle);
    fmt::print("NAMESPACE                                 OWNER      FLAGS\n");
    for (const auto& space : spaces)
        fmt::print("{:<36} {:>10} 0x{:08X}\n", space.name, space.owner, static_cast<unsigned>(space.flags));
    co_return 0;
}

} // namespace

int run_getroot(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&getroot, &context.handle(), &parsed);
}

int run_version(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&version, &context.handle(), name_space(parsed));
}

int run_wait(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    auto sequence = parse_integer<std::int64_t>(parsed.operands()[0]);
    if (!sequence) throw Error(EINVAL, "'" + parsed.operands()[0] + "' is no version");
    return context.run(&wait, &context.handle(), name_space(parsed), *sequence);
}

int run_namespace_create(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&create, &context.handle(), &parsed);
}

int run_namespace_remove(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&remove, &context.handle(), parsed.operands());
}

int run_namespace_list(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&list, &context.handle());
}

} // namespace flux::cmd::kvs
