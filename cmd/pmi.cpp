// flux pmi: try out the PMI of a launcher (cli.md 6.36). Needs no broker.
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "pmi/session/session.hpp"

#include <flux/duration.hpp>
#include <flux/idset.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sys/time.h>
#include <unistd.h>

namespace flux::cmd {
namespace {

using Clock = std::chrono::steady_clock;

void on_timeout(int) {
    constexpr std::string_view text = "flux-pmi: ERROR: timed out\n";
    if (::write(STDERR_FILENO, text.data(), text.size())) ::_exit(1);
    ::_exit(1);
}

// The calls of foreign PMI libraries cannot be given up, so the whole process is.
void limit_time(double seconds) {
    if (seconds <= 0) throw Error(EINVAL, "--timeout must be above 0");
    std::signal(SIGALRM, &on_timeout);
    itimerval timer{};
    timer.it_value.tv_sec = static_cast<time_t>(seconds);
    timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
    ::setitimer(ITIMER_REAL, &timer, nullptr);
}

std::unique_ptr<pmi::Session> open_session(const options::Parsed& parsed) {
    if (parsed.has("timeout")) limit_time(parse_duration(parsed.get("timeout")));
    pmi::SessionOptions options;
    if (auto method = parsed.find("method")) options.methods.emplace_back(*method);
    options.foreign_library_only = parsed.has("libpmi-noflux");
    options.trace = parsed.has("verbose");
    return pmi::open_session(options);
}

std::string label() {
    for (const char* name : {"FLUX_JOB_CC", "FLUX_JOB_ID"}) {
        if (const char* value = std::getenv(name)) return value;
    }
    return "0";
}

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int run_barrier(Context&, const options::Parsed& parsed) {
    auto session = open_session(parsed);
    auto count = parsed.number<unsigned>("test-count", 1);
    if (parsed.has("test-abort") && parsed.number<unsigned>("test-abort", 0) == session->rank) {
        session->abort(1, "flux-pmi: test abort");
        return 1;
    }
    while (count-- > 0) {
        auto start = Clock::now();
        session->barrier();
        if (session->rank > 0) continue;
        auto time = parsed.has("test-timing") ? fmt::format(" in {:.3f}s", since(start)) : std::string();
        fmt::print("{}: completed pmi barrier on {} tasks{}.\n", label(), session->size, time);
    }
    session->finalize();
    return 0;
}

int run_get(Context&, const options::Parsed& parsed) {
    auto session = open_session(parsed);
    auto ranks = parsed.get("ranks", "0");
    if (ranks == "all" || Idset::parse(ranks).test(session->rank)) {
        for (const auto& key : parsed.operands()) fmt::print("{}\n", session->get(key));
    }
    session->finalize();
    return 0;
}

int run_exchange(Context&, const options::Parsed& parsed) {
    auto session = open_session(parsed);
    auto count = parsed.number<unsigned>("count", 1);
    auto key = [](unsigned round, unsigned rank) { return fmt::format("exchange.{}.{}", round, rank); };
    auto value = [](unsigned round, unsigned rank) { return fmt::format("{}-of-{}", rank, round); };
    for (unsigned round = 0; round < count; ++round) {
        auto start = Clock::now();
        session->put(key(round, session->rank), value(round, session->rank));
        session->barrier();
        for (unsigned rank = 0; rank < session->size; ++rank) {
            auto got = session->get(key(round, rank));
            if (got != value(round, rank))
                throw Error(EPROTO, fmt::format("rank {} has put '{}', got '{}'", rank, value(round, rank), got));
        }
        session->barrier();
        if (session->rank == 0)
            fmt::print("{}: completed pmi exchange on {} tasks in {:.3f}s.\n", label(), session->size, since(start));
    }
    session->finalize();
    return 0;
}

using options::Value;
constexpr options::Option session_options[] = {
    {.name = "method",
     .value = Value::required,
     .argument = "URI",
     .help = "Use one way only: simple, libpmi[:PATH], libpmi2[:PATH], single"},
    {.name = "libpmi-noflux", .help = "Fail if the PMI library is Flux's own"},
    {.name = "verbose", .key = 'v', .help = "Trace PMI on stderr"},
    {.name = "timeout", .key = 't', .value = Value::required, .argument = "FSD", .help = "Give up after this time"},
};
constexpr options::Option barrier_options[] = {
    {.name = "test-count", .value = Value::required, .argument = "N", .help = "Execute N barriers (default 1)"},
    {.name = "test-abort", .value = Value::required, .argument = "RANK", .help = "Abort on this rank instead"},
    {.name = "test-timing", .help = "Tell how long it took"},
};
constexpr options::Option get_options[] = {
    {.name = "ranks",
     .value = Value::required,
     .argument = "IDSET",
     .help = "Print on these ranks, or on all (default 0)"},
};
constexpr options::Option exchange_options[] = {
    {.name = "count", .value = Value::required, .argument = "N", .help = "Execute N exchanges (default 1)"},
};
constexpr options::Command subcommands[] = {
    {.name = "barrier",
     .synopsis = "[OPTIONS]",
     .help = "Execute PMI barrier",
     .options = barrier_options,
     .run = &run_barrier},
    {.name = "get", .synopsis = "[OPTIONS] KEY...", .help = "Get PMI keys", .options = get_options, .run = &run_get},
    {.name = "exchange",
     .synopsis = "[OPTIONS]",
     .help = "Put a value on every rank and get those of all",
     .options = exchange_options,
     .run = &run_exchange},
};

} // namespace

extern const options::Command cmd_pmi;
const options::Command cmd_pmi{.name = "pmi",
                               .program = "flux-pmi",
                               .synopsis = "[OPTIONS] COMMAND",
                               .help = "Try out the PMI of a launcher",
                               .options = session_options,
                               .subcommands = subcommands};

} // namespace flux::cmd
