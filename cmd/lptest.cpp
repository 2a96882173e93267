// flux lptest: a pattern of characters, for tests of output (cli.md 2.4).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd {
namespace {

constexpr unsigned first_character = 0x21, characters = 0x7e - first_character + 1;
constexpr unsigned usual_length = 79, usual_count = 200;

int run(Context&, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.size() > 2) throw parsed.usage_error();
    auto number = [&](std::size_t index, unsigned usual) {
        if (words.size() <= index) return usual;
        auto value = parse_integer<unsigned>(words[index]);
        if (!value) throw Error(EINVAL, "'" + words[index] + "' is no number");
        return *value;
    };
    const auto length = number(0, usual_length), count = number(1, usual_count);
    std::string line(length + 1, '\n');
    for (unsigned row = 0; row < count; ++row) {
        for (unsigned column = 0; column < length; ++column)
            line[column] = static_cast<char>(first_character + (row + column) % characters);
        std::fwrite(line.data(), 1, line.size(), stdout);
    }
    return 0;
}

} // namespace

extern const options::Command cmd_lptest;
const options::Command cmd_lptest{.name = "lptest",
                                  .program = "flux-lptest",
                                  .synopsis = "[length] [count]",
                                  .help = "Output a ripple of characters",
                                  .hidden = true,
                                  .run = &run};

} // namespace flux::cmd
