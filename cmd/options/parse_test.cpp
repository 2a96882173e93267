#include <catch2/catch.hpp>

#include <cmd/options/parse.hpp>
#include <cstdlib>

using namespace flux::options;

namespace {

using Words = std::vector<const char*>;

int nothing(flux::cmd::Context&, const Parsed&) { return 0; }

constexpr Option ping_options[] = {
    {"rank", 'r', Value::required, "RANK", "Send to this rank."},
    {"count", 'c', Value::required, "N", "Send that many."},
    {"count-down", 0, Value::none, "", "Count down."},
    {"interval", 'i', Value::required, "DURATION", "Wait in between."},
    {"color", 'L', Value::optional, "WHEN", "Colorize output."},
    {"verbose", 'v', Value::optional, "LEVEL", "Say more."},
    {"", 'q', Value::none, "", "Say less."},
    {"secret", 0, Value::none, "", "Not shown.", true},
};
static_assert(consistent(ping_options));
constexpr Command ping = {
    .program = "flux-ping", .synopsis = "[OPTIONS] TARGET", .options = ping_options, .run = nothing};

constexpr Option jobs_options[] = {
    {"", 'a', Value::none, "", "List jobs in all states."},
    {"filter", 'f', Value::required, "STATE,...", "List jobs in these states."},
    {"width", 'w', Value::optional, "N", "Limit lines."},
    {"no-header", 'n', Value::none, "", "No header."},
    {"suppress-header", 0, Value::none, "", "", true, "no-header"},
};
static_assert(consistent(jobs_options));
constexpr Command jobs = {.program = "flux-jobs",
                          .synopsis = "[OPTIONS] [JOBID...]",
                          .options = jobs_options,
                          .family = Family::listing,
                          .run = nothing};

constexpr Option submit_options[] = {
    {"ntasks", 'n', Value::required, "N", "Tasks."},
    {"verbose", 'v', Value::none, "", "Say more."},
    {"env", 0, Value::required, "RULE", ""},
    {"env-remove", 0, Value::required, "PATTERN", ""},
};
constexpr Command submit = {.program = "flux submit",
                            .synopsis = "[OPTIONS] COMMAND [ARGS...]",
                            .options = submit_options,
                            .family = Family::submission,
                            .run = nothing};

constexpr Option kvs_options[] = {{"namespace", 'N', Value::required, "NAME", "Namespace."}};
constexpr Option put_options[] = {{"raw", 'r', Value::none, "", "As is."}, {"no-merge", 'n', Value::none, "", ""}};
constexpr Command namespace_commands[] = {{.name = "list", .run = nothing}};
constexpr Command kvs_commands[] = {
    {.name = "put", .synopsis = "[OPTIONS] KEY=VALUE...", .help = "Set keys.", .options = put_options, .run = nothing},
    {.name = "namespace", .synopsis = "COMMAND", .help = "Namespaces.", .subcommands = namespace_commands},
    {.name = "old", .hidden = true, .run = nothing},
};
constexpr Command kvs = {.program = "flux kvs",
                         .synopsis = "[OPTIONS] COMMAND [ARGS...]",
                         .options = kvs_options,
                         .subcommands = kvs_commands};

Parsed parsed(const Command& command, const Words& words) { return parse(command, words); }

Exit refused(const Command& command, const Words& words) {
    try {
        parse(command, words);
    } catch (const Exit& exit) {
        return exit;
    }
    FAIL("accepted");
    return {};
}

constexpr Option twice[] = {{"a", 'a', Value::none, "", ""}, {"b", 'a', Value::none, "", ""}};
static_assert(!consistent(twice));
constexpr Option nameless_value[] = {{"a", 'a', Value::required, "", ""}};
static_assert(!consistent(nameless_value));
constexpr Option lost_target[] = {{"a", 0, Value::none, "", "", false, "b"}};
static_assert(!consistent(lost_target));

} // namespace

TEST_CASE("options: values, counts and order", "[options]") {
    const auto options = parsed(ping, {"-r1", "--count", "3", "-q", "--rank=7", "-qi", ".5", "kvs", "-q", "--unknown"});
    CHECK(options.get("rank") == "7");
    CHECK(options.all("rank") == std::vector<std::string_view>{"1", "7"});
    CHECK(options.number("count", 1) == 3);
    CHECK(options.number("interval", 1.0) == 0.5);
    CHECK(options.count("q") == 2);
    CHECK(options.operands() == std::vector<std::string>{"kvs", "-q", "--unknown"});
    CHECK(!options.has("color"));
    CHECK(options.number("verbose", 9u) == 9);
    REQUIRE(options.given().size() == 6);
    CHECK(options.given()[1].option->name == "count");
}

TEST_CASE("options: optional values are glued only", "[options]") {
    auto options = parsed(ping, {"--color", "always"});
    CHECK(options.has("color"));
    CHECK(!options.find("color"));
    CHECK(options.operands() == std::vector<std::string>{"always"});
    CHECK(parsed(ping, {"--color=never"}).get("color") == "never");
    CHECK(parsed(ping, {"-Lnever"}).get("color") == "never");
    options = parsed(ping, {"-L", "never"});
    CHECK(!options.find("color"));
    CHECK(options.operands() == std::vector<std::string>{"never"});
}

TEST_CASE("options: the next word may be an optional value of a listing command", "[options]") {
    auto options = parsed(jobs, {"-w", "80", "-a"});
    CHECK(options.get("width") == "80");
    CHECK(options.has("a"));
    CHECK(options.operands().empty());
    options = parsed(jobs, {"-w", "-n", "x"});
    CHECK(!options.find("width"));
    CHECK(options.operands() == std::vector<std::string>{"x"});
    CHECK(parsed(jobs, {"-w"}).has("width"));
}

TEST_CASE("options: a level is given or counted", "[options]") {
    CHECK(parsed(ping, {}).level("verbose") == 0);
    CHECK(parsed(ping, {"-v", "--verbose"}).level("verbose") == 2);
    CHECK(parsed(ping, {"--verbose=5", "-v"}).level("verbose") == 5);
}

TEST_CASE("options: plain commands accept unambiguous prefixes", "[options]") {
    CHECK(parsed(ping, {"--ra=1"}).get("rank") == "1");
    CHECK(parsed(ping, {"--count-", "x"}).has("count-down"));
    CHECK(parsed(ping, {"--count=1"}).get("count") == "1");
    CHECK(refused(ping, {"--coun=1"}).err.starts_with("flux-ping: unrecognized option '--coun=1'\n"));
}

TEST_CASE("options: texts of plain commands", "[options]") {
    auto exit = refused(ping, {"--frobnicate"});
    CHECK(exit.code == 1);
    CHECK(exit.out.empty());
    CHECK(exit.err == "flux-ping: unrecognized option '--frobnicate'\n"
                      "Try 'flux-ping --help' for more information.\n");
    CHECK(refused(ping, {"-qx"}).err.starts_with("flux-ping: unrecognized option '-x'\n"));
    CHECK(refused(ping, {"--secret=x"}).err.starts_with("flux-ping: unrecognized option '--secret=x'\n"));
    exit = refused(ping, {"--rank"});
    CHECK(exit.code == 1);
    CHECK(exit.err == "flux-ping: '--rank' missing argument\n");
    CHECK(refused(ping, {"-qr"}).err == "flux-ping: '-r' missing argument\n");

    const auto options = parsed(ping, {"--count=4x", "--interval=99999999999"});
    CHECK_THROWS_AS(options.number("count", 1), Exit);
    CHECK_THROWS_AS(options.number("interval", 1), Exit);
    CHECK(options.usage_error().err == "Usage: flux-ping [OPTIONS] TARGET\n");
    CHECK(options.usage_error("no target").err == "flux-ping: no target\nUsage: flux-ping [OPTIONS] TARGET\n");
    CHECK(options.usage_error().code == 1);
    CHECK(options.failure_line("kvs: not found") == "flux-ping: kvs: not found\n");
}

TEST_CASE("options: listing commands mix options and operands and spell in full", "[options]") {
    ::setenv("POSIXLY_CORRECT", "1", 1);
    const auto options =
        parsed(jobs, {"one", "-a", "two", "-w40", "--filter", "run,,sched", "-fpending", "--", "-a", "x"});
    ::unsetenv("POSIXLY_CORRECT");
    CHECK(options.count("a") == 1);
    CHECK(options.number("width", 0) == 40);
    CHECK(options.list("filter") == std::vector<std::string>{"run", "sched", "pending"});
    CHECK(options.operands() == std::vector<std::string>{"one", "two", "-a", "x"});
    CHECK(parsed(jobs, {"--suppress-header"}).has("no-header"));

    auto exit = refused(jobs, {"x", "--filt=run"});
    CHECK(exit.code == 2);
    CHECK(exit.err == "Usage: flux-jobs [OPTIONS] [JOBID...]\nflux-jobs: error: unrecognized arguments: --filt=run\n");
    CHECK(refused(jobs, {"--filt", "run"}).code == 2);
    CHECK(refused(jobs, {"--hel"}).code == 2);
    CHECK_THAT(refused(jobs, {"--filter"}).err,
               Catch::EndsWith("flux-jobs: error: argument --filter: expected one argument\n"));
    try {
        parsed(jobs, {"--width=x"}).number("width", 0);
        FAIL("accepted");
    } catch (const Exit& error) {
        CHECK(error.code == 2);
        CHECK_THAT(error.err, Catch::EndsWith("flux-jobs: error: argument --width: invalid integer value: 'x'\n"));
    }
    CHECK(options.failure_line("no instance") == "flux-jobs: ERROR: no instance\n");
}

TEST_CASE("options: the command to submit ends options", "[options]") {
    const auto options = parsed(submit, {"-vn2", "--env=A=1", "--env-remove=B", "--", "hostname", "-n", "--", "x"});
    CHECK(options.number("ntasks", 1) == 2);
    CHECK(options.get("env") == "A=1");
    CHECK(options.operands() == std::vector<std::string>{"hostname", "-n", "--", "x"});
    CHECK(parsed(submit, {"true", "--help"}).operands().size() == 2);
    CHECK(refused(submit, {"-h"}).code == 2);
    CHECK(refused(submit, {"--help"}).code == 0);
    CHECK(refused(submit, {"--env-r=B"}).code == 2);
}

TEST_CASE("options: subcommands have their own options and see those before them", "[options]") {
    const auto options = parsed(kvs, {"-Nother", "put", "-r", "a=1", "-n"});
    CHECK(options.command().name == "put");
    CHECK(options.program() == "flux kvs put");
    CHECK(options.get("namespace") == "other");
    CHECK(options.has("raw"));
    CHECK(!options.has("no-merge"));
    CHECK(options.operands() == std::vector<std::string>{"a=1", "-n"});
    CHECK(parsed(kvs, {"namespace", "list"}).program() == "flux kvs namespace list");
    CHECK(parsed(kvs, {"old"}).command().name == "old");

    constexpr auto usage = "Usage: flux kvs [OPTIONS] COMMAND [ARGS...]\n"
                           "   or: flux kvs put [OPTIONS] KEY=VALUE...\n"
                           "   or: flux kvs namespace COMMAND\n";
    CHECK(refused(kvs, {}).err == std::string("flux kvs: missing subcommand\n") + usage);
    CHECK(refused(kvs, {"-Nx"}).code == 1);
    CHECK(refused(kvs, {"pu"}).err == std::string("flux kvs: Unknown subcommand: pu\n") + usage);
    CHECK(refused(kvs, {"namespace"}).err.starts_with("flux kvs namespace: missing subcommand\n"));
}

TEST_CASE("options: help of plain commands", "[options]") {
    ::setenv("COLUMNS", "60", 1);
    const auto exit = refused(ping, {"--help"});
    CHECK(exit.code == 0);
    CHECK(exit.out.empty());
    CHECK(exit.err == "Usage: flux-ping [OPTIONS] TARGET\n"
                      "  -h, --help             Display this message.\n"
                      "  -r, --rank=RANK        Send to this rank.\n"
                      "  -c, --count=N          Send that many.\n"
                      "      --count-down       Count down.\n"
                      "  -i, --interval=DURATION\n"
                      "                         Wait in between.\n"
                      "  -L, --color[=WHEN]     Colorize output.\n"
                      "  -v, --verbose[=LEVEL]  Say more.\n"
                      "  -q                     Say less.\n");
    CHECK(refused(kvs, {"-h"}).err == "Usage: flux kvs [OPTIONS] COMMAND [ARGS...]\n"
                                      "   or: flux kvs put [OPTIONS] KEY=VALUE...\n"
                                      "   or: flux kvs namespace COMMAND\n"
                                      "  -h, --help             Display this message.\n"
                                      "  -N, --namespace=NAME   Namespace.\n"
                                      "\nCommands:\n"
                                      "   put                   Set keys.\n"
                                      "   namespace             Namespaces.\n");
    CHECK(refused(kvs, {"put", "-h"}).err.starts_with("Usage: flux kvs put [OPTIONS] KEY=VALUE...\n"));
    ::unsetenv("COLUMNS");
}

TEST_CASE("options: help of listing commands goes to stdout and is wrapped", "[options]") {
    static constexpr Option options[] = {
        heading("Selection:"),
        {"include", 'i', Value::required, "TARGETS", "Only hosts in this list, which is a hostlist or an idset."},
        {"", 'n', Value::required, "N", "A_word_that_is_too_long_for_any_line"},
    };
    constexpr Command command = {.program = "flux-x", .options = options, .family = Family::listing, .run = nothing};
    ::setenv("COLUMNS", "70", 1);
    const auto exit = refused(command, {"-h"});
    CHECK(exit.code == 0);
    CHECK(exit.err.empty());
    CHECK(exit.out == "Usage: flux-x\n"
                      "  -h, --help                            Display this message.\n"
                      "\nSelection:\n"
                      "  -i, --include=TARGETS                 Only hosts in this list, which\n"
                      "                                        is a hostlist or an idset.\n"
                      "  -n N                                  A_word_that_is_too_long_for_any_line\n");
    for (const auto* width : {"16", "256", "x", ""}) {
        ::setenv("COLUMNS", width, 1);
        CHECK(refused(command, {"-h"}).out.find("list, which is a\n") != std::string::npos);
    }
    ::unsetenv("COLUMNS");
}
