#include "render.hpp"

namespace flux::shell {

Json resources_json(const RankInfo& rank) {
    return Json::object("ncores", rank.cores.count(), "cores", rank.cores.encode(), "gpus", rank.gpus.encode());
}

std::string Renderer::render(std::string_view text, unsigned rank, const ShellTask* task) const {
    std::string result;
    for (;;) {
        auto open = text.find("{{");
        result += text.substr(0, open);
        if (open == text.npos) return result;
        text.remove_prefix(open);
        auto close = text.find("}}");
        if (close == text.npos) {
            complain_("template: '" + std::string(text) + "' has no end }}");
            return result += text;
        }
        auto tag = text.substr(2, close - 2);
        if (auto found = value(tag, rank, task))
            result += *found;
        else
            result += text.substr(0, close + 2);
        text.remove_prefix(close + 2);
    }
}

bool Renderer::varies(std::string_view text, const ShellTask* task) const {
    if (job_.size <= 1 || text.find("{{") == text.npos) return false;
    if (text.find("{{tmpdir}}") != text.npos) return true;
    auto first = render(text, 0, nullptr);
    return first != render(text, 1, nullptr) || (task && first != render(text, 0, task));
}

std::optional<std::string> Renderer::value(std::string_view tag, unsigned rank, const ShellTask* task) const {
    for (std::string_view name : {"id", "jobid"}) {
        if (tag == name) return job_.f58;
        if (tag.starts_with(name) && tag[name.size()] == '.') return id(tag, tag.substr(name.size() + 1));
    }
    if (tag == "name") return job_.jobspec.job_name();
    if (tag == "nnodes") return std::to_string(job_.size);
    if (tag == "size" || tag == "ntasks") return std::to_string(job_.ntasks);
    if (tag == "taskid" || tag == "task.id" || tag == "task.rank")
        return task ? std::optional(std::to_string(task->rank())) : std::nullopt;
    if (tag == "task.index" || tag == "task.localid")
        return task ? std::optional(std::to_string(task->local_id())) : std::nullopt;
    if (tag.starts_with("node.")) {
        if (rank >= job_.size) return std::nullopt;
        if (auto found = node(tag.substr(5), rank)) return found;
    }
    return unknown_(tag);
}

std::optional<std::string> Renderer::id(std::string_view tag, std::string_view form) const {
    if (form == "f58") return job_.f58;
    try {
        return job_.id.encode(form);
    } catch (const Error& error) {
        complain_("template tag '" + std::string(tag) + "': " + error.what());
        return std::nullopt;
    }
}

std::optional<std::string> Renderer::node(std::string_view name, unsigned rank) const {
    const auto& info = job_.ranks[rank];
    if (name == "id") return std::to_string(rank);
    if (name == "name") return info.host;
    if (name == "broker_rank") return std::to_string(info.broker_rank);
    if (name == "ntasks") return std::to_string(info.taskids.count());
    if (name == "taskids") return info.taskids.encode();
    if (name == "resources") return resources_json(info).dump();
    if (name.starts_with("resources.")) name.remove_prefix(10);
    if (name == "cores") return info.cores.encode();
    if (name == "gpus") return info.gpus.encode();
    if (name == "ncores") return std::to_string(info.cores.count());
    return std::nullopt;
}

} // namespace flux::shell
