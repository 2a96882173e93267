#include "cmd/follow/outcome.hpp"
#include "cmd/follow/output_printer.hpp"
#include "cmd/follow/output_tail.hpp"

#include <flux/io_data.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>

using namespace flux;
using namespace flux::follow;

namespace {

/// A FILE in memory.
class Sink {
public:
    Sink() : file(::open_memstream(&data_, &size_)) {}
    ~Sink() {
        std::fclose(file);
        std::free(data_);
    }
    std::string text() {
        std::fflush(file);
        return std::string(data_, size_);
    }
    FILE* file;

private:
    char* data_ = nullptr;
    std::size_t size_ = 0;
};

EventlogEntry data(const char* stream, const char* text) {
    return EventlogEntry(2.5, "data", IoData::encode(stream, "3", text));
}

} // namespace

TEST_CASE("output goes where it belongs") {
    Sink out, err;
    OutputPrinter printer(out.file, err.file);
    printer.print(EventlogEntry(1, "header", Json::object("version", 1)));
    printer.print(data("stdout", "a\n"));
    printer.print(data("stderr", "b\n"));
    printer.print(EventlogEntry(1, "data", IoData::encode("stdout", "3", "", true)));
    CHECK(out.text() == "a\n");
    CHECK(err.text() == "b\n");
}

TEST_CASE("labels stand before every line") {
    Sink out, err;
    OutputPrinter printer(out.file, err.file);
    printer.label_ranks(true);
    printer.set_prefix("job: ");
    printer.print(data("stdout", "a\nb\nc"));
    CHECK(out.text() == "job: 3: a\njob: 3: b\njob: 3: c");
}

TEST_CASE("messages of the shell") {
    Sink out, err;
    OutputPrinter printer(out.file, err.file);
    printer.set_time_base(1);
    auto log = [](int level) {
        return EventlogEntry(
            2.25, "log",
            Json::object("rank", 0, "level", level, "component", "doom", "message", "m", "file", "f.c", "line", 7));
    };
    printer.print(log(4));
    printer.print(log(5));
    printer.be_verbose(true);
    printer.print(log(0));
    auto redirect = EventlogEntry(2, "redirect", Json::object("stream", "stdout", "rank", "[0-1]", "path", "x.out"));
    printer.print(redirect);
    printer.be_quiet(true);
    printer.print(redirect);
    CHECK(err.text() == "1.250s: flux-shell[0]:  WARN: doom: m\n"
                        "1.250s: flux-shell[0]: doom: m\n"
                        "1.250s: flux-shell[0]: FATAL: doom: f.c:7: m\n"
                        "[0-1]: stdout redirected to x.out\n");
}

TEST_CASE("exit codes") {
    auto code = [](std::initializer_list<std::pair<const char*, Json>> events) {
        Outcome outcome;
        for (const auto& [name, context] : events) outcome.apply(EventlogEntry(1, name, context.copy()));
        return outcome.exit_code();
    };
    auto finish = [](int status) { return std::pair("finish", Json::object("status", status)); };
    auto exception = [](int severity) {
        return std::pair("exception", Json::object("type", "cancel", "severity", severity, "note", ""));
    };
    CHECK(code({finish(0)}) == 0);
    CHECK(code({finish(0x200)}) == 2);
    CHECK(code({finish(9)}) == 137);
    CHECK(code({exception(0), finish(0)}) == 1);
    CHECK(code({exception(1), finish(0)}) == 0);
    CHECK(code({exception(0)}) == 1);
    CHECK(code({}) == 1);
}

TEST_CASE("the last lines of output") {
    auto text = [](std::vector<EventlogEntry> events) {
        std::string all;
        for (const auto& event : events) all += IoData::decode(event.context).data;
        return all;
    };
    auto data = [](std::string_view text, bool eof = false) {
        return EventlogEntry("data", IoData::encode("stdout", "0", text, eof));
    };
    OutputTail tail(2);
    CHECK(tail.take().empty());
    tail.add(data("one\n"));
    CHECK(text(tail.take()) == "one\n");
    tail.add(data("1\n2\n3\n4\n"));
    tail.add(data("5\n"));
    tail.add(data("", true));
    CHECK(text(tail.take()) == "4\n5\n");
    tail.add(data("1\n2\nrest"));
    CHECK(text(tail.take()) == "2\nrest");
}
