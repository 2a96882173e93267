// flux kvs put, mkdir, link, unlink, copy, move, sync: what changes keys
#include "cmd/kvs/commands.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <iostream>
#include <iterator>

namespace flux::cmd::kvs {
namespace {

namespace api = flux::kvs;
using kvs_protocol::CommitFlag;

void print_root(const options::Parsed& parsed, const api::Root& root) {
    if (parsed.has("treeobj-root")) fmt::print("{}\n", treeobj::encode(treeobj::make_dirref(root.ref)));
    if (parsed.has("blobref")) fmt::print("{}\n", root.ref.to_string());
    if (parsed.has("sequence")) fmt::print("{}\n", root.sequence);
}

Task<int> commit(Handle* handle, const options::Parsed* parsed, api::Transaction* transaction, int flags) {
    auto options = api::CommitOptions().name_space(name_space(*parsed)).flags(flags);
    try {
        auto root = co_await api::commit_once(*handle, *transaction, options);
        print_root(*parsed, root);
    } catch (const Error& error) {
        throw about("kvs commit", error);
    }
    co_return 0;
}

std::string read_stdin() { return std::string(std::istreambuf_iterator<char>(std::cin), {}); }

bool is_directory(JsonView object) {
    auto type = treeobj::type_of(object);
    return type == treeobj::Type::dir || type == treeobj::Type::dirref;
}

/// Refuse keys that are missing, and directories with something in them.
Task<> check_unlink(Handle* handle, const options::Parsed* parsed, std::string key) {
    auto refuse = [&](int errnum) {
        return Error(errnum, fmt::format("cannot unlink '{}': {}", key, errno_text(errnum)));
    };
    try {
        auto options = api::LookupOptions().name_space(name_space(*parsed)).treeobj();
        auto object = co_await api::lookup(*handle, key, options);
        if (parsed->has("recursive") || !is_directory(object.object())) co_return;
        options = api::LookupOptions().name_space(name_space(*parsed)).dir();
        auto folder = co_await api::lookup(*handle, key, options);
        if (!folder.entries().empty()) throw Error(ENOTEMPTY);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        if (error.errnum() == ENOENT && parsed->has("force")) co_return;
        throw refuse(error.errnum());
    }
}

Task<int> unlink(Handle* handle, const options::Parsed* parsed) {
    api::Transaction transaction;
    for (const auto& key : parsed->operands()) {
        co_await check_unlink(handle, parsed, key);
        transaction.unlink(key);
    }
    co_return co_await commit(handle, parsed, &transaction, 0);
}

Task<int> copy(Handle* handle, const options::Parsed* parsed, bool and_unlink) {
    const auto &from = parsed->operands()[0], &to = parsed->operands()[1];
    auto space = [&](const char* option) {
        auto given = parsed->find(option);
        return given ? std::string(*given) : api::default_namespace();
    };
    auto lookup_options = api::LookupOptions().name_space(space("src-namespace")).treeobj();
    try {
        auto object = co_await api::lookup(*handle, from, lookup_options);
        api::Transaction transaction;
        transaction.put_treeobj(to, object.object());
        auto to_options = api::CommitOptions().name_space(space("dst-namespace"));
        co_await api::commit_once(*handle, transaction, to_options);
        if (!and_unlink) co_return 0;
        api::Transaction removal;
        removal.unlink(from);
        auto from_options = api::CommitOptions().name_space(space("src-namespace"));
        co_await api::commit_once(*handle, removal, from_options);
    } catch (const Error& error) {
        throw about(from, error);
    }
    co_return 0;
}

Task<int> sync(Handle* handle) {
    api::Transaction nothing;
    auto options = api::CommitOptions().flags(CommitFlag::sync);
    try {
        co_await api::commit_once(*handle, nothing, options);
    } catch (const Error& error) {
        throw about("sync", error);
    }
    co_return 0;
}

} // namespace

int run_put(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    const bool raw = parsed.has("raw"), as_treeobj = parsed.has("treeobj"), append = parsed.has("append");
    api::Transaction transaction;
    for (const auto& word : parsed.operands()) {
        auto equals = word.find('=');
        if (equals == std::string::npos) throw Error(EINVAL, word + ": you must specify a value as key=value");
        auto key = word.substr(0, equals), value = word.substr(equals + 1);
        if ((raw || as_treeobj) && value == "-") value = read_stdin();
        if (key.empty()) throw about(key, Error(EINVAL));
        if (as_treeobj)
            transaction.put_treeobj(key, treeobj::decode(value));
        else if (append)
            transaction.append(key, value);
        else
            transaction.put(key, value);
    }
    int flags = 0;
    if (parsed.has("no-merge")) flags |= CommitFlag::no_merge;
    if (parsed.has("sync")) flags |= CommitFlag::sync;
    return context.run(&commit, &context.handle(), &parsed, &transaction, flags);
}

int run_mkdir(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    api::Transaction transaction;
    for (const auto& key : parsed.operands()) transaction.mkdir(key);
    return context.run(&commit, &context.handle(), &parsed, &transaction, 0);
}

int run_link(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.size() != 2) throw parsed.usage_error();
    api::Transaction transaction;
    transaction.symlink(words[1], words[0], parsed.find("target-namespace"));
    return context.run(&commit, &context.handle(), &parsed, &transaction, 0);
}

int run_unlink(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&unlink, &context.handle(), &parsed);
}

int run_copy(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 2) throw parsed.usage_error();
    return context.run(&copy, &context.handle(), &parsed, false);
}

int run_move(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 2) throw parsed.usage_error();
    return context.run(&copy, &context.handle(), &parsed, true);
}

int run_sync(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&sync, &context.handle());
}

} // namespace flux::cmd::kvs
