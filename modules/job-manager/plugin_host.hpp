// A plugin with what it is offered: the functions of JobtapHost, on the jobs of this module.
#pragma once

#include "core.hpp"
#include "inactive.hpp"

#include <flux/library.hpp>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace flux::job_manager {

class HostedPlugin final : public Plugins::Loaded, public JobtapHost {
public:
    using Config = std::function<JsonView()>;
    HostedPlugin(Core& core, Inactive& inactive, std::string name, std::string path, Json arguments, Config config)
        : Loaded(std::move(name), std::move(path)),
          core_(core),
          inactive_(inactive),
          scope_(core.handle.loop(),
                 [this](const char* task, const std::exception& error) {
                     log(LogLevel::err, std::string(task) + ": " + error.what());
                 }),
          arguments_(std::move(arguments)),
          config_(std::move(config)) {}
    /// Make the plugin: by the code of this module, or by that of a file. \throws Error whatever its constructor throws
    void make(std::unique_ptr<JobtapPlugin> (*function)(JobtapHost&));
    void make(std::unique_ptr<Library> library);
    ~HostedPlugin() override;
    Task<> close() override { co_await scope_.close(); }

    Handle& handle() noexcept override { return core_.handle; }
    Scope& scope() noexcept override { return scope_; }
    JsonView config() const override { return config_(); }
    JsonView arguments() const override { return arguments_; }
    void log(LogLevel level, std::string_view text) override;
    std::optional<JobtapJob> lookup(JobId id) override;
    std::vector<JobId> active_jobs() const override;
    void dependency_add(JobId id, std::string_view description) override;
    void dependency_remove(JobId id, std::string_view description) override;
    void set_flag(JobId id, std::string_view flag) override;
    void raise(JobId id, std::string_view type, int severity, std::string_view note) override;
    void post(JobId id, std::string_view event, Json context) override;
    void update_jobspec(JobId id, Json updates) override;
    void annotate(JobId id, JsonView annotations) override;
    void reprioritize(JobId id) override;
    void reprioritize_all() override;
    void prolog_start(JobId id, std::string_view description) override;
    void prolog_finish(JobId id, std::string_view description, int status) override;
    void epilog_start(JobId id, std::string_view description) override;
    void epilog_finish(JobId id, std::string_view description, int status) override;
    void with_inactive(std::function<void()> callback) override { inactive_.with_all(keep(std::move(callback))); }
    void when_durable(std::function<void()> callback) override { core_.ledger.then(keep(std::move(callback))); }
    void check_submit(std::string_view queue) override { core_.queues.check_submit(queue); }
    void serve(std::string_view method, MethodClass method_class, std::uint32_t roles,
               std::function<void(Request)> handler) override;

private:
    using Callbacks = std::list<std::function<void()>>;
    Job& active(JobId id);
    /// To be called by others who may keep it for longer than the plugin lives.
    std::function<void()> keep(std::function<void()> callback);

    Core& core_;
    Inactive& inactive_;
    std::unique_ptr<Library> library_;
    Scope scope_;
    Json arguments_;
    Config config_;
    std::vector<std::string> topics_;
    std::shared_ptr<Callbacks> callbacks_ = std::make_shared<Callbacks>();
};

} // namespace flux::job_manager
