// Blocks for ever where option `blocking` says: in its constructor or in `init`.
#include <flux/shell.hpp>

#include <unistd.h>

namespace {

class Bad final : public flux::shell::Plugin {
public:
    explicit Bad(flux::shell::Shell& shell) : Plugin(shell) { at("constructor"); }
    flux::Task<> init() override {
        at("init");
        co_return;
    }

private:
    void at(const char* where) {
        while (shell().option("blocking").as<std::string>() == where) ::pause();
    }
};

} // namespace

FLUX_SHELL_PLUGIN(Bad, "blocking")
