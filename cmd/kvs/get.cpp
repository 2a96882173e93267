// flux kvs get, readlink: what keys hold
#include "cmd/kvs/commands.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>

namespace flux::cmd::kvs {
namespace {

namespace api = flux::kvs;

/// How values are printed.
class Printer {
public:
    explicit Printer(const options::Parsed& parsed)
        : raw_(parsed.has("raw")), treeobj_(parsed.has("treeobj")), label_(parsed.has("label")) {}

    void print(const std::string& key, const api::Value& value) const {
        if (treeobj_) return write(key, treeobj::encode(value.object()), true);
        auto bytes = value.bytes();
        write(key, bytes, !raw_ && !bytes.empty());
    }

    /// A piece of a value that follows.
    void print_piece(const api::Value& value) const {
        auto bytes = value.bytes();
        std::fwrite(bytes.data(), 1, bytes.size(), stdout);
        std::fflush(stdout);
    }

private:
    void write(const std::string& key, const std::string& text, bool newline) const {
        if (label_) fmt::print("{}=", key);
        std::fwrite(text.data(), 1, text.size(), stdout);
        if (newline) fmt::print("\n");
        std::fflush(stdout);
    }

    bool raw_;
    bool treeobj_;
    bool label_;
};

Task<int> get(Handle* handle, const options::Parsed* parsed) {
    Printer printer(*parsed);
    api::LookupOptions options;
    options.name_space(name_space(*parsed));
    if (parsed->has("treeobj")) options.treeobj();
    if (parsed->has("waitcreate")) options.wait_create();
    if (auto root = snapshot(*parsed)) options.at(*root);
    for (const auto& key : parsed->operands()) {
        try {
            auto value = co_await api::lookup(*handle, key, options);
            printer.print(key, value);
        } catch (const Error& error) {
            throw about(key, error);
        }
    }
    co_return 0;
}

Task<int> get_pieces(Handle* handle, const options::Parsed* parsed) {
    Printer printer(*parsed);
    api::WatchOptions options;
    options.name_space(name_space(*parsed)).pieces_only();
    if (parsed->has("waitcreate")) options.wait_create();
    for (const auto& key : parsed->operands()) {
        bool any = false;
        try {
            api::Watch watch(*handle, key, options);
            while (auto value = co_await watch.next()) {
                printer.print_piece(*value);
                any = any || !value->bytes().empty();
            }
        } catch (const Error& error) {
            throw about(key, error);
        }
        if (any) fmt::print("\n");
    }
    co_return 0;
}

class WatchPlan {
public:
    explicit WatchPlan(const options::Parsed& parsed) : printer(parsed), count(parsed.number<unsigned>("count", 0)) {
        options.name_space(name_space(parsed));
        if (parsed.has("treeobj")) options.treeobj();
        if (parsed.has("waitcreate")) options.wait_create();
        if (parsed.has("uniq")) options.unique();
        if (parsed.has("append")) options.append();
        if (parsed.has("full")) options.full();
    }
    Printer printer;
    unsigned count; ///< 0: no end
    api::WatchOptions options;
    std::exception_ptr failure;
};

Task<> watch_key(Handle* handle, WatchPlan* plan, Scope* all, std::string key) {
    try {
        api::Watch watch(*handle, key, plan->options);
        for (unsigned seen = 0; auto value = co_await watch.next();) {
            plan->printer.print(key, *value);
            if (++seen == plan->count) break;
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        if (!plan->failure) plan->failure = std::make_exception_ptr(about(key, error));
        all->abort();
    }
}

Task<int> watch(Context* context, const options::Parsed* parsed) {
    WatchPlan plan(*parsed);
    Scope watches(context->scope());
    for (const auto& key : parsed->operands())
        watches.spawn("watch", &watch_key, &context->handle(), &plan, &watches, key);
    co_await watches.drained();
    if (plan.failure) std::rethrow_exception(plan.failure);
    co_return 0;
}

Task<int> readlink(Handle* handle, const options::Parsed* parsed) {
    api::LookupOptions options;
    options.name_space(name_space(*parsed)).link();
    if (auto root = snapshot(*parsed)) options.at(*root);
    for (const auto& key : parsed->operands()) {
        try {
            auto value = co_await api::lookup(*handle, key, options);
            auto link = value.link();
            if (parsed->has("namespace-only"))
                fmt::print("{}\n", link.name_space.value_or(""));
            else if (link.name_space && !parsed->has("key-only"))
                fmt::print("{}::{}\n", *link.name_space, link.target);
            else
                fmt::print("{}\n", link.target);
        } catch (const Error& error) {
            throw about(key, error);
        }
    }
    co_return 0;
}

} // namespace

int run_get(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    if (parsed.has("watch") && parsed.has("stream")) throw about(parsed.operands()[0], Error(EINVAL));
    if (parsed.has("watch")) return context.run(&watch, &context, &parsed);
    if (parsed.has("stream")) return context.run(&get_pieces, &context.handle(), &parsed);
    return context.run(&get, &context.handle(), &parsed);
}

int run_readlink(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&readlink, &context.handle(), &parsed);
}

} // namespace flux::cmd::kvs
