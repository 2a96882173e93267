// Keeps its own code mapped.
#include <flux/jobtap.hpp>

#include <dlfcn.h>

namespace {

class Bad final : public flux::JobtapPlugin {
public:
    explicit Bad(flux::JobtapHost& host) : JobtapPlugin(host) {
        Dl_info info{};
        static const char anchor = 0;
        ::dladdr(&anchor, &info);
        ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD); // one reference more, never given back
    }
};

} // namespace

FLUX_JOBTAP_PLUGIN(Bad)
