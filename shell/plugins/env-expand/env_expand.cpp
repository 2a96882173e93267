// env-expand — variables that are templates (option `env-expand`): those of the job are set once, those with tags of a
// task for each task.
#include <flux/shell.hpp>

namespace flux::shell {
namespace {

class EnvExpand final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        for (auto [name, value] : shell().option("env-expand").members()) {
            auto text = shell().render(value.as<std::string_view>());
            if (text.find("{{") == text.npos)
                shell().environment()[std::string(name)] = text;
            else
                per_task_.emplace_back(name, text);
        }
        co_return;
    }
    void task_init(ShellTask& task) override {
        for (const auto& [name, text] : per_task_) task.environment()[name] = shell().render(text, &task);
    }

private:
    std::vector<std::pair<std::string, std::string>> per_task_;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::EnvExpand, "env-expand")
