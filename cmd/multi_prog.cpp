// flux multi-prog: run what a file tells for this task (cli.md 6.36).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/submission/directives.hpp"

#include <flux/error.hpp>
#include <flux/idset.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace flux::cmd {
namespace {

using Words = std::vector<std::string>;

/// Replace `%t` and `%o`.
std::string expanded(std::string_view word, Idset::Id rank, std::size_t offset) {
    std::string text;
    for (std::size_t index = 0; index < word.size(); ++index) {
        const bool tag =
            word[index] == '%' && index + 1 < word.size() && (word[index + 1] == 't' || word[index + 1] == 'o');
        if (!tag)
            text += word[index];
        else
            text += word[++index] == 't' ? std::to_string(rank) : std::to_string(offset);
    }
    return text;
}

/// Lines `IDSET|* COMMAND ARGS`.
class Programs {
public:
    explicit Programs(const std::string& path) {
        std::ifstream file(path);
        if (!file) throw Error(errno, errno_text(errno) + ": '" + path + "'");
        std::size_t number = 0;
        for (std::string line; std::getline(file, line);) {
            auto words = submission::split_words(line, ++number);
            if (words.empty()) continue;
            auto ranks = words[0] == "*" ? std::optional(Idset()) : Idset::try_parse(words[0]);
            if (!ranks) throw Error(EINVAL, fmt::format("{}: line {}: invalid idset: {}", path, number, words[0]));
            if (words.size() == 1) throw Error(EINVAL, fmt::format("{}: line {}: no command", path, number));
            const bool fallback = words[0] == "*";
            words.erase(words.begin());
            if (fallback)
                fallback_ = std::move(words);
            else
                lines_.push_back({std::move(*ranks), std::move(words)});
        }
    }

    /// The command of a task: of the first line that names it. \throws Error ENOENT
    Words command(Idset::Id rank) const {
        for (const auto& line : lines_) {
            if (!line.ranks.test(rank)) continue;
            std::size_t offset = 0;
            for (auto other : line.ranks) offset += other < rank ? 1 : 0;
            return filled(line.words, rank, offset);
        }
        if (fallback_.empty()) throw Error(ENOENT, fmt::format("no command for task {}", rank));
        return filled(fallback_, rank, 0);
    }

private:
    struct Line {
        Idset ranks;
        Words words;
    };
    static Words filled(const Words& words, Idset::Id rank, std::size_t offset) {
        Words result;
        for (const auto& word : words) result.push_back(expanded(word, rank, offset));
        return result;
    }

    std::vector<Line> lines_;
    Words fallback_;
};

[[noreturn]] void execute(const Words& words) {
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    throw Error(errno, words[0] + ": " + errno_text(errno));
}

int run(Context&, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error("the following arguments are required: CONFIG");
    Programs programs(parsed.operands()[0]);
    if (auto ranks = parsed.find("dry-run")) {
        for (auto rank : Idset::parse(*ranks)) {
            std::string line;
            for (const auto& word : programs.command(rank)) line += " " + word;
            fmt::print("{}:{}\n", rank, line);
        }
        return 0;
    }
    const char* text = std::getenv("FLUX_TASK_RANK");
    auto rank = parse_integer<Idset::Id>(text ? text : "");
    if (!rank) throw Error(EINVAL, "FLUX_TASK_RANK not found or invalid");
    execute(programs.command(*rank));
}

constexpr options::Option multi_prog_options[] = {
    {.name = "dry-run",
     .key = 'n',
     .value = options::Value::required,
     .argument = "IDSET",
     .help = "Do not run anything. Instead, print what would be run for the tasks of IDSET."},
};

} // namespace

extern const options::Command cmd_multi_prog;
const options::Command cmd_multi_prog{
    .name = "multi-prog",
    .program = "flux-multi-prog",
    .synopsis = "[OPTIONS] CONFIG",
    .help = "Run a parallel program with a different executable and arguments for each task",
    .options = multi_prog_options,
    .family = options::Family::listing,
    .run = &run};

} // namespace flux::cmd
