// Throws where option `throwing` says: in its constructor, `init` or `exit`.
#include <flux/shell.hpp>

#include <stdexcept>

namespace {

class Bad final : public flux::shell::Plugin {
public:
    explicit Bad(flux::shell::Shell& shell) : Plugin(shell) { at("constructor"); }
    flux::Task<> init() override {
        at("init");
        co_return;
    }
    void exit() override { at("exit"); }

private:
    void at(const char* where) {
        if (shell().option("throwing").as<std::string>() == where) throw std::runtime_error("thrown on purpose");
    }
};

} // namespace

FLUX_SHELL_PLUGIN(Bad, "throwing")
