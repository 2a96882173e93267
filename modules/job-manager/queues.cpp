#include "queues.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux::job_manager {

Queues::Queues() { queues_.emplace_back(); }

void Queues::configure(JsonView config) {
    auto table = config["queues"];
    std::vector<Queue> configured;
    for (auto [name, entry] : table.members()) {
        auto where = [name = name] { return fmt::format("queues.{}", name); };
        if (!entry.is_object()) throw Error(EINVAL, where() + " is no table");
        Queue queue;
        queue.name = name;
        queue.run.on = queue.saved_run.on = false;
        if (auto parent = entry["parent"]) {
            auto parent_name = parent.try_as<std::string>();
            auto above = parent_name ? table[*parent_name] : JsonView();
            if (!above.is_object()) throw Error(EINVAL, where() + ": parent is no configured queue");
            if (above.contains("parent")) throw Error(EINVAL, where() + ": parent is a virtual queue");
            if (entry.contains("requires")) throw Error(EINVAL, where() + ": a virtual queue has no requires");
            queue.parent = *parent_name;
        }
        configured.push_back(std::move(queue));
    }
    bool named = table.is_object() && !table.empty();
    if (auto fallback = config.find("policy.jobspec.defaults.system.queue")) {
        auto name = fallback.try_as<std::string>();
        if (!name || !table.contains(*name)) throw Error(EINVAL, "policy: the default queue is not configured");
    }
    if (!named) configured.emplace_back();
    for (auto& queue : configured) {
        if (auto* known = find(queue.name); known && named == named_) {
            auto parent = std::move(queue.parent);
            queue = *known;
            queue.parent = std::move(parent);
        }
    }
    named_ = named;
    queues_ = std::move(configured);
}

std::vector<std::string> Queues::names() const {
    std::vector<std::string> names;
    if (!named_) return names;
    for (auto& queue : queues_) names.push_back(queue.name);
    return names;
}

const Queues::Queue* Queues::find(std::string_view name) const noexcept {
    auto found = std::find_if(queues_.begin(), queues_.end(), [&](const Queue& queue) { return queue.name == name; });
    return found == queues_.end() ? nullptr : &*found;
}

bool Queues::started(std::string_view name) const noexcept {
    auto* queue = find(name);
    if (!queue || !queue->run.on) return false;
    return queue->parent.empty() || started(queue->parent);
}

void Queues::check_submit(std::string_view name) const {
    auto* queue = find(name);
    if (!queue && name.empty()) throw Error(EINVAL, "no queue specified");
    if (!queue) throw Error(EINVAL, fmt::format("'{}' is not a valid queue", name));
    if (queue->submit.on) return;
    throw Error(EINVAL, fmt::format("job submission{}{} is disabled: {}", name.empty() ? "" : " to ", name,
                                    queue->submit.reason));
}

Json Queues::status(std::optional<std::string> name, bool scheduler_online) const {
    if (!name && named_) throw Error(EINVAL, "a named queue is required");
    auto* queue = find(name.value_or(""));
    if (!queue) throw Error(EINVAL, fmt::format("'{}' is not a valid queue", *name));
    bool parent_stopped = !queue->parent.empty() && !started(queue->parent);
    const char* blocked = nullptr;
    auto reason = queue->run.reason;
    if (queue->run.on && parent_stopped) {
        blocked = "parent";
        reason = fmt::format("parent queue '{}' is stopped", queue->parent);
    } else if (queue->run.on && !scheduler_online) {
        blocked = "scheduler";
        reason = "Scheduler is offline";
    }
    auto status = Json::object("enable", queue->submit.on, "start", queue->run.on && !blocked);
    if (!queue->parent.empty()) status.set("parent", queue->parent);
    if (blocked) status.set("blocked", blocked);
    if (!queue->submit.on && !queue->submit.reason.empty()) status.set("disable_reason", queue->submit.reason);
    if ((!queue->run.on || blocked) && !reason.empty()) status.set("stop_reason", reason);
    return status;
}

std::vector<Queues::Queue*> Queues::select(JsonView request, const char* all_hint) {
    auto name = request.get_optional<std::string>("name");
    bool all = request.get<bool>("all");
    std::vector<Queue*> selected;
    if (!name && named_ && !all) throw Error(EINVAL, all_hint);
    for (auto& queue : queues_) {
        if (!name || queue.name == *name) selected.push_back(&queue);
    }
    if (selected.empty() || (name && !named_)) throw Error(EINVAL, fmt::format("'{}' is not a valid queue", *name));
    return selected;
}

void Queues::enable(JsonView request) {
    Switch wanted{request.get<bool>("enable"), request.get_or<std::string>("reason", "")};
    if (!wanted.on && wanted.reason.empty()) throw Error(EINVAL, "reason is required for disable");
    if (wanted.on) wanted.reason.clear();
    for (auto* queue : select(request, "Use --all to apply this command to all queues")) queue->submit = wanted;
}

void Queues::start(JsonView request) {
    Switch wanted{request.get<bool>("start"), request.get_or<std::string>("reason", "")};
    bool forget = request.get_or("nocheckpoint", false);
    if (wanted.on) wanted.reason.clear();
    for (auto* queue : select(request, "Named queues are defined. Specify queues or use --all.")) {
        queue->run = wanted;
        if (!forget) queue->saved_run = wanted;
    }
}

void Queues::stop_all(std::string_view reason) {
    for (auto& queue : queues_) {
        if (!queue.run.on) continue;
        queue.run = queue.saved_run = Switch{false, std::string(reason)};
    }
}

Json Queues::save() const {
    auto saved = Json::array();
    for (auto& queue : queues_) {
        auto entry = Json::object();
        if (!queue.name.empty()) entry.set("name", queue.name);
        entry.set("enable", queue.submit.on);
        entry.set("start", queue.saved_run.on);
        if (!queue.submit.reason.empty()) entry.set("disable_reason", queue.submit.reason);
        if (!queue.saved_run.reason.empty()) entry.set("stop_reason", queue.saved_run.reason);
        saved.append(std::move(entry));
    }
    return saved;
}

void Queues::restore(JsonView saved) {
    for (auto entry : saved.elements()) {
        auto name = entry.get_or<std::string>("name", "");
        auto found =
            std::find_if(queues_.begin(), queues_.end(), [&](const Queue& queue) { return queue.name == name; });
        if (found == queues_.end()) continue;
        found->submit = Switch{entry.get<bool>("enable"), entry.get_or<std::string>("disable_reason", "")};
        found->run = Switch{entry.get<bool>("start"), entry.get_or<std::string>("stop_reason", "")};
        found->saved_run = found->run;
    }
}

} // namespace flux::job_manager
