// flux-module-exec PATH: run a module in this process, connected by FLUX_MODULE_URI.
#include <flux/library.hpp>
#include <flux/module.hpp>

#include <fmt/core.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>

int main(int argc, char** argv) {
    std::setlocale(LC_CTYPE, "");
    if (argc != 2) {
        fmt::print(stderr, "Usage: flux-module-exec PATH\n");
        return 1;
    }
    const char* uri = std::getenv("FLUX_MODULE_URI");
    if (!uri) {
        fmt::print(stderr, "flux-module-exec: FLUX_MODULE_URI is not set\n");
        return 1;
    }
    try {
        // This process ends with its module, so the file is loaded where it lies.
        auto library = flux::Library::open_in_place(argv[1], flux::module_library);
        auto exit = flux::run_module(library->table<flux::ModuleTable>(),
                                     [&](flux::Loop& loop) { return flux::connect_uri(loop, uri); });
        return exit.errnum == 0 ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "flux-module-exec: {}\n", error.what());
        return 1;
    }
}
