// flux version: what runs here and there (cli.md 2.4).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/version.hpp>

#include <fmt/core.h>

#include <cstdlib>

namespace flux::cmd {
namespace {

Task<int> print_broker(Handle* handle, const char* uri) {
    auto broker = co_await handle->get_attr("version");
    fmt::print("broker:  \t\t{}\nFLUX_URI:\t\t{}\n", broker.value_or("unknown"), uri);
    co_return 0;
}

int run(Context& context, const options::Parsed&) {
    fmt::print("commands:    \t\t{}\nvendor:      \t\t{}\nlibflux-core:\t\t{}\n", version, vendor_version, version);
    if (const char* uri = std::getenv("FLUX_URI")) context.run(&print_broker, &context.handle(), uri);
    fmt::print("build-options:\t\t+hwloc+sqlite+openssl\n");
    return 0;
}

} // namespace

extern const options::Command cmd_version;
const options::Command cmd_version{
    .name = "version", .program = "flux-version", .help = "Display flux version information", .run = &run};

} // namespace flux::cmd
