// flux bulksubmit: a job for each combination of inputs (cli.md 6.3).
#include "cmd/bulk.hpp"
#include "cmd/submission/inputs.hpp"
#include "cmd/submission/options.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <random>
#include <sstream>

namespace flux::cmd {
namespace {

constexpr std::string_view program = "bulksubmit";

/// `\n`, `\t`, `\0` and the like as typed in a shell.
std::string unescape(std::string_view text) {
    constexpr std::string_view letters = "ntr0\\", meanings("\n\t\r\0\\", 5);
    std::string result;
    for (std::size_t index = 0; index < text.size(); ++index) {
        auto known = text[index] == '\\' && index + 1 < text.size() ? letters.find(text[index + 1]) : letters.npos;
        if (known != letters.npos) ++index;
        result += known == letters.npos ? text[index] : meanings[known];
    }
    return result;
}

std::vector<std::string> split(const std::string& text, std::string_view separator) {
    std::vector<std::string> items;
    if (separator == "none") {
        std::istringstream words(text);
        for (std::string word; words >> word;) items.push_back(word);
        return items;
    }
    auto between = unescape(separator);
    for (std::string_view rest = text; !rest.empty();) {
        auto item = rest.substr(0, between.empty() ? rest.npos : rest.find(between));
        if (!item.empty()) items.emplace_back(item);
        rest.remove_prefix(std::min(rest.size(), item.size() + between.size()));
    }
    return items;
}

std::vector<std::string> read_inputs(const std::string& name, std::string_view separator) {
    std::ifstream file;
    if (name != "-") file.open(name);
    if (!file) throw Error(errno, errno_text(errno) + ": '" + name + "'");
    std::istream& input = name == "-" ? std::cin : file;
    return split(std::string(std::istreambuf_iterator<char>(input), {}), separator);
}

/// What one job is: the options that its inputs have changed, and its command.
std::string describe(const options::Parsed& typed, const options::Parsed& job) {
    std::string text;
    for (std::size_t index = 0; index < job.given().size(); ++index) {
        const auto& [option, value] = job.given()[index];
        if (!value || value == typed.given()[index].value) continue;
        text +=
            option->key ? fmt::format(" -{}{}", option->key, *value) : fmt::format(" --{}={}", option->name, *value);
    }
    for (const auto& word : job.operands()) text += " " + word;
    return text;
}

class Plan {
public:
    explicit Plan(const options::Parsed& parsed)
        : inputs(parsed.operands(),
                 [&](const std::string& name) { return read_inputs(name, parsed.get("sep", "\n")); }),
          parsed(parsed.with_operands(inputs.command())),
          order(inputs.size()) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (parsed.has("shuffle")) std::shuffle(order.begin(), order.end(), std::mt19937_64(std::random_device()()));
    }

    submission::Tags tags(std::size_t sequence) const {
        return submission::input_tags(inputs.combination(order[sequence]), sequence);
    }
    void print(std::size_t sequence) const {
        auto all_tags = tags(sequence);
        auto change = [&](std::string_view text) { return submission::substitute(text, all_tags); };
        fmt::print("{}: submit{}\n", program, describe(parsed, parsed.with_values(change)));
    }

    submission::Inputs inputs;
    options::Parsed parsed;
    std::vector<std::size_t> order;
};

Task<int> submit_all(Context* context, const Plan* plan) {
    Bulk bulk(*context, plan->parsed);
    bulk.expect(plan->order.size());
    const bool verbose = plan->parsed.has("verbose");
    for (std::size_t sequence = 0; sequence < plan->order.size(); ++sequence) {
        if (verbose) plan->print(sequence);
        auto tags = plan->tags(sequence);
        co_await bulk.submit(&plan->parsed, tags);
    }
    co_return co_await bulk.finish();
}

int run(Context& context, const options::Parsed& parsed) {
    Plan plan(parsed);
    if (!parsed.has("dry-run")) return context.run(&submit_all, &context, &plan);
    if (parsed.has("progress")) fmt::print("{}: submitting a total of {} jobs\n", program, plan.order.size());
    for (std::size_t sequence = 0; sequence < plan.order.size(); ++sequence) plan.print(sequence);
    return 0;
}

constexpr options::Option own_options[] = {
    {.name = "shuffle", .help = "Shuffle the list of jobs before submission"},
    {.name = "sep",
     .value = options::Value::required,
     .argument = "STRING",
     .help = "Set the input separator for files and stdin (default: newline; 'none': white space)"},
};
constexpr auto bulksubmit_options =
    options::join(submission::common_options, submission::task_options, submission::bulk_options, own_options);
static_assert(options::consistent(bulksubmit_options));

} // namespace

extern const options::Command cmd_bulksubmit;
const options::Command cmd_bulksubmit{.name = "bulksubmit",
                                      .program = "flux-bulksubmit",
                                      .synopsis = "[OPTIONS...] [COMMAND...] [::: INPUT...]...",
                                      .help = "Submit jobs in bulk, one for each combination of inputs",
                                      .options = bulksubmit_options,
                                      .family = options::Family::submission,
                                      .run = &run};

} // namespace flux::cmd
