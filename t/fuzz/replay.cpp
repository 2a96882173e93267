// Runs a fuzz target over the files of its corpus: `fuzz_replay DECODER DIRECTORY`. For compilers without libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

// fuzz_targets.inc is TARGET(idset) TARGET(hostlist) …, one for each *_fuzz.cpp, whose entry point the build renames.
#define TARGET(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_targets.inc"
#undef TARGET

namespace {

struct Target {
    std::string_view name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};
constexpr Target targets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.inc"
};

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    for (auto [name, run] : targets) {
        if (name != argv[1]) continue;
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
            std::ifstream file(entry.path(), std::ios::binary);
            std::string bytes(std::istreambuf_iterator<char>(file), {});
            run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
            ++count;
        }
        std::printf("%d inputs\n", count);
        return count > 0 ? 0 : 1;
    }
    return 2;
}
