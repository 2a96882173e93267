// Keeps its own code mapped.
#include <flux/module.hpp>

#include <dlfcn.h>

namespace {

class Bad final : public flux::Module {
public:
    using Module::Module;
    flux::Task<> start() override {
        Dl_info info{};
        static const char anchor = 0;
        ::dladdr(&anchor, &info);
        ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD); // one reference more, never given back
        co_return;
    }
};

} // namespace

FLUX_MODULE(Bad, "pinned")
