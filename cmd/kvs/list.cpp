// flux kvs dir, ls: what directories hold
#include "cmd/kvs/commands.hpp"
#include "cmd/output/columns.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <map>

namespace flux::cmd::kvs {
namespace {

namespace api = flux::kvs;
using treeobj::Type;

/// Where keys are looked up.
class Tree {
public:
    Tree(Handle& handle, const options::Parsed& parsed, std::optional<Blobref> root)
        : handle_(handle), space_(name_space(parsed)), root_(std::move(root)) {}

    Reply<api::Value> value(std::string_view key) const { return api::lookup(handle_, key, options()); }
    Reply<api::Value> object(std::string_view key) const { return api::lookup(handle_, key, options().treeobj()); }
    Reply<api::Value> entries(std::string_view key) const { return api::lookup(handle_, key, options().dir()); }

private:
    api::LookupOptions options() const {
        auto options = api::LookupOptions().name_space(space_);
        if (root_) options.at(*root_);
        return options;
    }

    Handle& handle_;
    std::string space_;
    std::optional<Blobref> root_;
};

bool is_directory(JsonView object) {
    auto type = treeobj::type_of(object);
    return type == Type::dir || type == Type::dirref;
}

std::string below(const std::string& folder, std::string_view name) {
    return folder == "." ? std::string(name) : folder + "." + std::string(name);
}

using Entries = std::map<std::string, JsonView>; // sorted

Entries sorted_entries(const api::Value& folder) {
    Entries entries;
    for (auto [name, object] : folder.entries().members()) entries.emplace(name, object);
    return entries;
}

// dir -----------------------------------------------------------------------------------------------------------

class DirPlan {
public:
    DirPlan(Handle& handle, const options::Parsed& parsed)
        : tree(handle, parsed, snapshot(parsed)),
          recursive(parsed.has("recursive")),
          keys_only(parsed.has("directory")),
          width(output_width(parsed)) {}
    Tree tree;
    bool recursive;
    bool keys_only;
    std::size_t width;
};

void print_value(const DirPlan& plan, const std::string& key, std::string_view value) {
    auto line = key + " = ";
    auto text = value.substr(0, value.find('\n'));
    line += text;
    const bool lost = text.size() + 1 < value.size();
    if (plan.width == 0)
        line = key + " = " + std::string(value);
    else if (lost || output::columns(line) > plan.width)
        line = std::string(output::cut(line, plan.width > 3 ? plan.width - 3 : 0)) + "...";
    fmt::print("{}\n", line);
}

void print_link(const std::string& key, JsonView object) {
    auto link = treeobj::link_of(object);
    if (link.name_space)
        fmt::print("{} -> {}::{}\n", key, *link.name_space, link.target);
    else
        fmt::print("{} -> {}\n", key, link.target);
}

Task<> print_dir(const DirPlan* plan, std::string folder) {
    auto listing = co_await plan->tree.entries(folder);
    auto entries = sorted_entries(listing);
    if (plan->recursive && entries.empty() && folder != ".") fmt::print("{}.\n", folder);
    for (const auto& [name, object] : entries) {
        auto key = below(folder, name);
        if (is_directory(object)) {
            if (plan->recursive)
                co_await print_dir(plan, key);
            else
                fmt::print("{}.\n", key);
        } else if (treeobj::type_of(object) == Type::symlink) {
            print_link(key, object);
        } else if (plan->keys_only) {
            fmt::print("{}\n", key);
        } else if (treeobj::type_of(object) == Type::val) {
            print_value(*plan, key, treeobj::value_of(object));
        } else {
            auto value = co_await plan->tree.value(key);
            print_value(*plan, key, value.bytes());
        }
    }
}

Task<int> dir(DirPlan* plan, std::string folder) {
    try {
        co_await print_dir(plan, folder);
    } catch (const Error& error) {
        throw about(folder, error);
    }
    co_return 0;
}

// ls ------------------------------------------------------------------------------------------------------------

class Ls {
public:
    Ls(Handle& handle, const options::Parsed& parsed)
        : tree_(handle, parsed, std::nullopt),
          parsed_(parsed),
          recursive_(parsed.has("recursive")),
          directories_as_keys_(parsed.has("directory")),
          classify_(parsed.has("classify")),
          width_(parsed.has("1") ? 0 : output_width(parsed)),
          one_per_line_(parsed.has("1")) {}

    Task<int> run() {
        auto keys = parsed_.operands();
        if (keys.empty()) keys.push_back(".");
        std::vector<std::string> singles, folders;
        for (const auto& key : keys) {
            try {
                auto shown = co_await classify(key);
                if (shown.empty())
                    folders.push_back(without_dot(key));
                else
                    singles.push_back(shown);
            } catch (const Cancelled&) {
                throw;
            } catch (const Error& error) {
                fmt::print(stderr, "{}", parsed_.failure_line(about(key, error).what()));
                code_ = 1;
            }
        }
        std::sort(singles.begin(), singles.end());
        std::sort(folders.begin(), folders.end());
        print_columns(singles);
        anything_printed_ = !singles.empty();
        headers_ = folders.size() > 1 || !singles.empty() || recursive_;
        for (const auto& folder : folders) co_await print_folder(folder);
        co_return code_;
    }

private:
    static std::string without_dot(const std::string& key) {
        return key.size() > 1 && key.ends_with('.') ? key.substr(0, key.size() - 1) : key;
    }

    /// How a key is shown that is not listed as a directory; empty for one that is.
    Task<std::string> classify(std::string key) {
        const bool must_be_directory = key.size() > 1 && key.ends_with('.');
        auto plain = without_dot(key);
        auto found = co_await tree_.object(plain);
        if (is_directory(found.object())) {
            if (directories_as_keys_) co_return plain + (classify_ && plain != "." ? "." : "");
            co_return std::string();
        }
        if (treeobj::type_of(found.object()) == Type::symlink) {
            const bool follow = must_be_directory || !(directories_as_keys_ || classify_);
            if (follow && co_await leads_to_directory(plain)) co_return std::string();
            if (must_be_directory) throw Error(ENOTDIR);
            co_return plain + (classify_ ? "@" : "");
        }
        if (must_be_directory) throw Error(ENOTDIR);
        co_return plain;
    }

    Task<bool> leads_to_directory(std::string key) {
        try {
            co_await tree_.entries(key);
            co_return true;
        } catch (const Error& error) {
            if (error.errnum() != ENOTDIR && error.errnum() != ENOENT) throw;
            co_return false;
        }
    }

    Task<> print_folder(std::string folder) {
        auto listing = co_await tree_.entries(folder);
        std::vector<std::string> names, below_it;
        for (const auto& [name, object] : sorted_entries(listing)) {
            auto mark = !classify_                                  ? ""
                        : is_directory(object)                      ? "."
                        : treeobj::type_of(object) == Type::symlink ? "@"
                                                                    : "";
            names.push_back(name + mark);
            if (recursive_ && is_directory(object)) below_it.push_back(below(folder, name));
        }
        if (headers_) fmt::print("{}{}:\n", anything_printed_ ? "\n" : "", folder);
        anything_printed_ = true;
        print_columns(names);
        for (const auto& key : below_it) co_await print_folder(key);
    }

    void print_columns(const std::vector<std::string>& names) const {
        constexpr std::size_t gap = 4;
        std::size_t longest = 0;
        for (const auto& name : names) longest = std::max(longest, output::columns(name));
        auto column = longest + gap;
        auto per_line = one_per_line_ ? 1 : width_ == 0 ? names.size() : std::max<std::size_t>(width_ / column, 1);
        for (std::size_t index = 0; index < names.size(); ++index) {
            const bool last = (index + 1) % per_line == 0 || index + 1 == names.size();
            if (last)
                fmt::print("{}\n", names[index]);
            else
                fmt::print("{}", output::pad(names[index], column, '<'));
        }
    }

    Tree tree_;
    const options::Parsed& parsed_;
    bool recursive_;
    bool directories_as_keys_;
    bool classify_;
    std::size_t width_;
    bool one_per_line_;
    bool headers_ = false;
    bool anything_printed_ = false;
    int code_ = 0;
};

Task<int> ls(Handle* handle, const options::Parsed* parsed) {
    Ls ls(*handle, *parsed);
    co_return co_await ls.run();
}

} // namespace

int run_dir(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    DirPlan plan(context.handle(), parsed);
    std::string folder = parsed.operands().empty() ? "." : parsed.operands()[0];
    return context.run(&dir, &plan, folder);
}

int run_ls(Context& context, const options::Parsed& parsed) { return context.run(&ls, &context.handle(), &parsed); }

} // namespace flux::cmd::kvs
