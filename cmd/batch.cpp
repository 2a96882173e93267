// flux batch: queue an instance that runs a script (cli.md 6.4).
#include "cmd/context.hpp"
#include "cmd/submission/directives.hpp"
#include "cmd/submission/file_object.hpp"
#include "cmd/submission/instance.hpp"
#include "cmd/submission/options.hpp"
#include "cmd/submission/submit.hpp"

#include <flux/job_id.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>

namespace flux::cmd {
namespace {

constexpr unsigned script_permissions = 0700;

class Script {
public:
    explicit Script(const options::Parsed& parsed) {
        const auto& words = parsed.operands();
        if (parsed.has("wrap")) {
            name = "batch";
            for (const auto& word : words) text += text.empty() ? word : " " + word;
            if (words.empty()) text = read(std::cin);
            text = "#!/bin/sh\n" + text + (text.ends_with('\n') ? "" : "\n");
            return;
        }
        if (words.empty()) {
            name = "batch";
            text = read(std::cin);
        } else {
            name = words[0];
            arguments.assign(words.begin() + 1, words.end());
            std::ifstream file(name);
            if (!file) throw Error(errno, errno_text(errno) + ": '" + name + "'");
            text = read(file);
        }
        if (!text.starts_with("#!")) throw Error(EINVAL, name + " does not appear to start with '#!'");
    }

    std::string name;
    std::string text;
    std::vector<std::string> arguments;

private:
    static std::string read(std::istream& input) { return std::string(std::istreambuf_iterator<char>(input), {}); }
};

/// The options of the script's directives, checked one by one, so that errors name the line.
std::vector<std::string> words_of(const Script& script, const options::Command& command) {
    std::vector<std::string> all;
    for (const auto& directive : submission::read_directives(script.text)) {
        std::vector<const char*> words;
        for (const auto& word : directive.words) words.push_back(word.c_str());
        try {
            options::parse(command, words);
        } catch (options::Exit& exit) {
            auto place = fmt::format("argument parsing failed at {} line {}\n", script.name, directive.line);
            throw options::Exit{options::exit_code::usage, {}, exit.err + place};
        }
        all.insert(all.end(), directive.words.begin(), directive.words.end());
    }
    return all;
}

Task<int> submit(Handle* handle, Json jobspec, const options::Parsed* parsed) {
    auto answer =
        co_await submission::submit(*handle, jobspec, submission::urgency(*parsed), submission::submit_flags(*parsed));
    if (!parsed->has("quiet")) fmt::print("{}\n", answer.json().get<JobId>("id").f58());
    co_return 0;
}

int run(Context& context, const options::Parsed& typed) {
    Script script(typed);
    auto parsed = typed.after(words_of(script, typed.command()));
    std::vector<std::string> program{"{{tmpdir}}/script"};
    program.insert(program.end(), script.arguments.begin(), script.arguments.end());
    auto jobspec = submission::make_instance(parsed, program);
    jobspec.add_file("script", submission::file_of_content(script.text, script_permissions));
    if (!parsed.has("job-name")) jobspec.set_job_name(script.name);
    if (!parsed.has("output")) {
        jobspec.set_shell_option("output.stdout.type", "file");
        jobspec.set_shell_option("output.stdout.path", "flux-{{id}}.out");
    }
    if (parsed.has("dry-run")) {
        fmt::print("{}\n", jobspec.take().dump());
        return 0;
    }
    return context.run(&submit, &context.handle(), jobspec.take(), &parsed);
}

constexpr options::Option own_options[] = {
    {.name = "wrap", .help = "Wrap arguments or stdin in a /bin/sh script"},
    {.name = "verbose", .key = 'v', .help = "Increase verbosity on stderr", .hidden = true},
};
constexpr auto batch_options = options::join(submission::common_options, submission::instance_options, own_options);
static_assert(options::consistent(batch_options));

} // namespace

extern const options::Command cmd_batch;
const options::Command cmd_batch{.name = "batch",
                                 .program = "flux-batch",
                                 .synopsis = "[OPTIONS...] SCRIPT [ARGS...]",
                                 .help = "Submit a batch script to Flux",
                                 .options = batch_options,
                                 .family = options::Family::submission,
                                 .run = &run};

} // namespace flux::cmd
