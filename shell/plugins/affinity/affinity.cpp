// affinity — binds the shell to the CPUs of its allocated cores and tasks to a part of them (option `cpu-affinity`),
// and tells tasks their GPUs (option `gpu-affinity`).
#include "cpu_option.hpp"

#include <flux/shell.hpp>

namespace flux::shell {
namespace {

class Affinity final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        init_cpus();
        init_gpus();
        co_return;
    }

    void task_init(ShellTask& task) override {
        if (task.local_id() < task_cpus_.size()) {
            const auto& cpus = task_cpus_[task.local_id()];
            if (option_.verbose) say("task " + std::to_string(task.rank()) + ": cpus: " + cpus.encode());
            if (!option_.dry_run) task.bind(cpus);
        }
        if (task.local_id() < task_gpus_.size())
            task.environment()["CUDA_VISIBLE_DEVICES"] = task_gpus_[task.local_id()].encode_as_list();
    }

private:
    void say(const std::string& text) { shell().log(Level::notice, "cpu-affinity", text); }

    std::string string_option(std::string_view name) {
        auto option = shell().option(name);
        if (!option) return "on";
        if (auto text = option.try_as<std::string>()) return *text;
        shell().log(Level::warning, name, "invalid option " + option.dump() + ", using 'on'");
        return "on";
    }

    void init_cpus() {
        option_ = CpuOption::parse(string_option("cpu-affinity"));
        if (option_.off) return;
        const auto& cores = shell().info().self().cores;
        auto own = cpus_of(cores, shell().core_cpus());
        if (!own) {
            shell().log(Level::warning, "cpu-affinity", "cores " + cores.encode() + " are not on this host, disabling");
            return;
        }
        if (own->empty()) return;
        if (option_.verbose) say("cpus: " + own->encode());
        auto ntasks = shell().tasks().size();
        if (!option_.map.empty()) {
            for (std::size_t i = 0; i < ntasks; ++i) task_cpus_.push_back(option_.map[i % option_.map.size()]);
        } else if (option_.per_task) {
            for (const auto& set : divide_cores(cores, ntasks))
                task_cpus_.push_back(*cpus_of(set, shell().core_cpus()));
        }
        if (!option_.dry_run) shell().bind(*own);
    }

    void init_gpus() {
        auto option = string_option("gpu-affinity");
        if (option == "off") return;
        const auto& gpus = shell().info().self().gpus;
        auto& environment = shell().environment();
        environment["CUDA_VISIBLE_DEVICES"] = "-1";
        environment.try_emplace("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
        auto ntasks = shell().tasks().size();
        if (option.starts_with("map:")) {
            auto map = CpuOption::parse(option).map;
            for (std::size_t i = 0; i < ntasks; ++i) task_gpus_.push_back(map[i % map.size()]);
        } else if (option == "per-task") {
            auto each = ntasks ? gpus.count() / ntasks : 0;
            auto next = gpus.begin();
            for (std::size_t i = 0; i < ntasks && !gpus.empty(); ++i) {
                task_gpus_.emplace_back();
                for (std::size_t k = 0; k < each; ++k) task_gpus_.back().set(*next++);
            }
        } else if (!gpus.empty()) {
            environment["CUDA_VISIBLE_DEVICES"] = gpus.encode_as_list();
        }
    }

    CpuOption option_;
    std::vector<Idset> task_cpus_; // by local id
    std::vector<Idset> task_gpus_;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Affinity, "affinity")
