// flux uri: the URI of an instance (cli.md 6.17).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/uri/resolve.hpp"

#include <fmt/core.h>

namespace flux::cmd {
namespace {

int run(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    if (parsed.has("local") && parsed.has("remote"))
        throw parsed.usage_error("argument --local: not allowed with argument --remote");
    auto uri = uri::resolve(context, parsed.operands()[0], parsed.has("wait"));
    if (parsed.has("local")) uri = uri::to_local(uri);
    if (parsed.has("remote")) uri = uri::to_remote(uri);
    fmt::print("{}\n", uri);
    return 0;
}

constexpr options::Option uri_options[] = {
    {.name = "remote", .help = "Attempt to return a remote URI"},
    {.name = "local", .help = "Convert the URI to a local one"},
    {.name = "wait", .help = "Wait for a job that is not running yet"},
};

} // namespace

extern const options::Command cmd_uri;
const options::Command cmd_uri{.name = "uri",
                               .program = "flux-uri",
                               .synopsis = "[OPTIONS] TARGET",
                               .help = "Resolve TARGET to a Flux URI",
                               .options = uri_options,
                               .family = options::Family::listing,
                               .run = &run};

} // namespace flux::cmd
