#include "broker/attributes/attributes.hpp"

#include <cerrno>

namespace flux::broker {
namespace {

struct Registered {
    std::string_view name; // a trailing `*` stands for any rest
    unsigned flags;
};

constexpr unsigned R = Attributes::readonly;
constexpr unsigned I = Attributes::immutable;
constexpr unsigned T = Attributes::runtime;

constexpr Registered registered[] = {
    {"rank", R | I},
    {"size", R | I},
    {"version", R},
    {"rundir", 0},
    {"rundir-cleanup", I},
    {"statedir", 0},
    {"statedir-cleanup", I},
    {"security.owner", R | I},
    {"local-uri", I},
    {"parent-uri", R | I},
    {"instance-level", R | I},
    {"jobid", R | I},
    {"jobid-path", R | I},
    {"parent-kvs-namespace", R | I},
    {"hostlist", I},
    {"hostname", I},
    {"broker.mapping", R | I},
    {"broker.critical-ranks", I},
    {"broker.boot-method", I},
    {"broker.pid", R | I},
    {"broker.uuid", R | I},
    {"broker.starttime", R | I},
    {"broker.quorum", I},
    {"broker.quorum-warn", I},
    {"broker.shutdown-warn", I},
    {"broker.shutdown-timeout", I},
    {"broker.cleanup-timeout", 0},
    {"broker.unload-builtins-timeout", 0},
    {"broker.rc1_path", 0},
    {"broker.rc3_path", 0},
    {"broker.rc2_none", 0},
    {"broker.rc2_pgrp", 0},
    {"broker.exit-norestart", 0},
    {"broker.exit-restart", T},
    {"broker.module-nopanic", T},
    {"broker.sd-notify", 0},
    {"broker.sd-stop-timeout", I},
    {"broker.recovery-mode", 0},
    {"conf.shell_initrc", T},
    {"conf.shell_pluginpath", T},
    {"config.path", I},
    {"tbon.topo", I},
    {"tbon.fanout", I},
    {"tbon.descendants", R | I},
    {"tbon.level", R | I},
    {"tbon.maxlevel", R | I},
    {"tbon.endpoint", R},
    {"tbon.parent-endpoint", R},
    {"tbon.prefertcp", I},
    {"tbon.interface-hint", T | I},
    {"tbon.torpid_min", 0},
    {"tbon.torpid_max", 0},
    {"tbon.tcp_user_timeout", 0},
    {"tbon.connect_timeout", 0},
    {"tbon.hold-limit", 0},
    {"tbon.hold-timeout", 0},
    {"tbon.zmqdebug", 0},
    {"tbon.zmq_io_threads", 0},
    {"tbon.child_rcvhwm", 0},
    {"log-ring-size", I},
    {"log-level", I},
    {"log-stderr-level", T},
    {"log-stderr-mode", I},
    {"log-forward-level", I},
    {"log-critical-level", I},
    {"log-syslog-enable", I},
    {"log-syslog-level", I},
    {"log-filename", 0},
    {"content.backing-module", 0},
    {"content.hash", I},
    {"content.dump", T},
    {"content.restore", T},
    {"cron.directory", 0},
    {"vendor.*", T | I},
    {"test.*", T},
    {"test-ro.*", R},
    {"test-nr.*", 0},
    {"test-im.*", I},
    {"test-rd.*", T},
};

const Registered* find(std::string_view name) {
    for (const auto& entry : registered) {
        if (entry.name.back() == '*' ? name.starts_with(entry.name.substr(0, entry.name.size() - 1))
                                     : name == entry.name)
            return &entry;
    }
    return nullptr;
}

} // namespace

void Attributes::set_from_command_line(std::string_view name, std::optional<std::string> value) {
    const auto* entry = find(name);
    if (!entry) throw Error(ENOENT, std::string(name) + ": unknown attribute");
    if (entry->flags & readonly)
        throw Error(EINVAL, std::string(name) + ": attribute may not be set on the command line");
    values_.insert_or_assign(std::string(name), std::move(value));
}

void Attributes::set(std::string_view name, std::string value) {
    if (!find(name)) throw Error(ENOENT, std::string(name) + ": unknown attribute");
    values_.insert_or_assign(std::string(name), std::move(value));
}

void Attributes::set_from_request(std::string_view name, std::string value, bool force) {
    const auto* entry = find(name);
    if (!entry) throw Error(ENOENT, "unknown attribute");
    if (values_.contains(name)) {
        if (!(entry->flags & runtime) && !force) throw Error(EINVAL, "attribute may not be updated");
        if (entry->flags & immutable) throw Error(EPERM);
    }
    values_.insert_or_assign(std::string(name), std::move(value));
}

void Attributes::remove(std::string_view name) {
    auto found = values_.find(name);
    if (found == values_.end()) return;
    if (is_immutable(name)) throw Error(EPERM);
    values_.erase(found);
}

std::optional<std::string> Attributes::get(std::string_view name) const {
    auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : found->second;
}

std::string Attributes::get_or(std::string_view name, std::string_view fallback) const {
    auto value = get(name);
    return value ? *value : std::string(fallback);
}

bool Attributes::is_immutable(std::string_view name) const {
    const auto* entry = find(name);
    return entry && (entry->flags & immutable);
}

std::vector<std::string> Attributes::names() const {
    std::vector<std::string> result;
    for (const auto& [name, value] : values_) result.push_back(name);
    return result;
}

Json Attributes::immutable_json() const {
    auto result = Json::object();
    for (const auto& [name, value] : values_) {
        if (value && is_immutable(name)) result.set(name, *value);
    }
    return result;
}

} // namespace flux::broker
