#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <cmd/output/listing.hpp>
#include <map>

using namespace flux::output;

namespace {

using Item = std::map<std::string, Value, std::less<>>;

const Headings headings = [](std::string_view name) -> std::optional<std::string> {
    static const std::map<std::string, std::string, std::less<>> table = {
        {"id", "JOBID"},
        {"id.f58", "JOBID"},
        {"queue", "QUEUE"},
        {"username", "USER"},
        {"name", "NAME"},
        {"status_abbrev", "ST"},
        {"ntasks", "NTASKS"},
        {"nnodes", "NNODES"},
        {"contextual_time", "TIME"},
        {"contextual_info", "INFO"},
        {"t_run", "T_RUN"},
        {"success", "SUCCESS"},
        {"user.note", "NOTE"},
    };
    const auto found = table.find(name);
    if (found == table.end()) return std::nullopt;
    return found->second;
};

std::vector<Row> rows_of(const std::vector<Item>& items) {
    std::vector<Row> rows;
    for (const auto& item : items)
        rows.push_back([&item](std::string_view name) {
            const auto found = item.find(name);
            return found == item.end() ? Value(Absent{}) : found->second;
        });
    return rows;
}

std::string print(const char* format, const std::vector<Item>& items, bool with_header = true) {
    const auto rows = rows_of(items);
    const Listing listing(Format::parse(format, headings), rows, with_header);
    std::string text;
    if (with_header) text += listing.header() + '\n';
    for (const auto& row : rows)
        if (const auto line = listing.line(row); !is_blank(line)) text += line + '\n';
    return text;
}

constexpr const char* jobs_default =
    "{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} {status_abbrev:>2.2} {ntasks:>6} {nnodes:>6h} "
    "{contextual_time!F:>8h} {contextual_info}";

const std::vector<Item> jobs = {
    {{"id.f58", "ƒ2aV2gb9"},
     {"queue", ""},
     {"username", "root"},
     {"name", "sleep"},
     {"status_abbrev", "S"},
     {"ntasks", 4},
     {"nnodes", ""},
     {"contextual_time", 0.0},
     {"contextual_info", "held"}},
    {{"id.f58", "ƒ2V3FKZh"},
     {"queue", ""},
     {"username", "root"},
     {"name", "longjobname"},
     {"status_abbrev", "R"},
     {"ntasks", 1},
     {"nnodes", 1},
     {"contextual_time", 2.807},
     {"contextual_info", "vm"}},
    {{"id.f58", "ƒ3RV4wpB"},
     {"queue", ""},
     {"username", "root"},
     {"name", "true"},
     {"status_abbrev", "CA"},
     {"ntasks", 1},
     {"nnodes", ""},
     {"contextual_time", 0},
     {"contextual_info", ""}},
};

} // namespace

TEST_CASE("listing: the default format of jobs", "[output]") {
    CHECK(print(jobs_default, jobs) == "       JOBID USER     NAME       ST NTASKS NNODES     TIME INFO\n"
                                       "    ƒ2aV2gb9 root     sleep       S      4      -        - held\n"
                                       "    ƒ2V3FKZh root     longjobna+  R      1      1   2.807s vm\n"
                                       "    ƒ3RV4wpB root     true       CA      1      -        - \n");
    CHECK(print(jobs_default, {}) == "       JOBID USER     NAME       ST NTASKS NNODES     TIME INFO\n");
    auto queued = jobs;
    queued[1]["queue"] = "debugging";
    queued[1]["username"] = "a-long-name";
    CHECK(print(jobs_default, queued) == "       JOBID QUEUE    USER        NAME       ST NTASKS NNODES     TIME INFO\n"
                                         "    ƒ2aV2gb9          root        sleep       S      4      -        - held\n"
                                         "    ƒ2V3FKZh debuggin a-long-name longjobna+  R      1      1   2.807s vm\n"
                                         "    ƒ3RV4wpB          root        true       CA      1      -        - \n");
}

TEST_CASE("listing: columns vanish with the text before them", "[output]") {
    const std::vector<Item> items = {{{"name", "x"}, {"contextual_time", 0.0}, {"ntasks", 0}}};
    CHECK(print("a ?:{queue:>8} b ?:{contextual_time!F:>8h} c {name}", items) == " c NAME\n c x\n");
    CHECK(print("?:{ntasks:>2} {name}", items) == "NTASKS NAME\n 0 x\n");
    CHECK(print("?+:{contextual_time}{name}", items) == "NAME\nx\n");
    CHECK(print("?:{t_run!d:%R::>5}|{name}", items) == "|NAME\n|x\n");
}

TEST_CASE("listing: columns grow", "[output]") {
    const std::vector<Item> items = {{{"name", "abcdefghij"}, {"contextual_time", 1234.5678}},
                                     {{"name", "ƒ"}, {"contextual_time", 2.5}}};
    CHECK(print("+:{name:4.4+}|", items) == "NAME      |\nabcdefghij|\nƒ         |\n");
    CHECK(print("+:{name:>12}|", items) == "        NAME|\n  abcdefghij|\n           ƒ|\n");
    CHECK(print("+:{contextual_time:.1f}|", items) == "TIME  |\n1234.6|\n   2.5|\n");
    const std::vector<Item> narrow = {{{"name", "a"}}};
    CHECK(print("?+:{name:1}|", narrow) == "NAME|\na   |\n");
    CHECK(print("?+:{name:1}|", narrow, false) == "a|\n");
}

TEST_CASE("listing: headers keep align and width only", "[output]") {
    CHECK(print("{name:*^8.2} {ntasks:06d}|{t_run!d:%b%d %R::>12h}|{contextual_time!F}", {}) ==
          "  NAME   NTASKS|       T_RUN|TIME\n");
}

TEST_CASE("listing: values by their kind", "[output]") {
    const std::vector<Item> items = {{{"id", Spelled{42, "ƒk"}}, {"success", true}, {"t_run", 1.0}}};
    CHECK(print("{id} {id:>4} {success} {success:>2} {success!s:>5}", items, false) == "ƒk   42 True  1  True\n");
    CHECK(print("{{{user.note:>3d}}}", items, false) == "{   }\n");
    CHECK(print("{t_run!d:%Y::>6}|{t_run!d:%Yh}|{t_run!d:%h+}", items, false) ==
          print("  {t_run!d:%Y}|{t_run!d:%Y}|{t_run!d:%b}", items, false));
    CHECK(print("{user.note!d:h}|{user.note!d:%R::3h}", items, false) == "-|-  \n");
    CHECK(print("{user.note} {queue}", items, false).empty());
    const Listing listing(Format::parse("{name} {name!X}", headings), {}, true);
    CHECK(listing.header() == "NAME NAME");
    CHECK_THROWS_WITH(listing.line(rows_of(items)[0]), "Unknown conversion specifier X");
}

TEST_CASE("format: text that is none is refused", "[output]") {
    CHECK_THROWS_WITH(Format::parse("{nope}", headings), "Unknown format field: nope");
    CHECK_THROWS_WITH(Format::parse("{}", headings), "Unknown format field: ");
    const auto text =
        GENERATE("{name", "name}", "{", "}", "{name:{ntasks}}", "{name!}", "{name!sx}", "{name:q}", "{{}");
    CAPTURE(text);
    CHECK_THROWS_AS(Format::parse(text, headings), flux::Error);
}

TEST_CASE("format: names and leaving fields out", "[output]") {
    const auto format = Format::parse("sort:-ntasks,,name {id} +{name} ?:{queue} {name}+: end", headings);
    CHECK(format.names() == std::vector<std::string>{"id", "name", "queue", "ntasks"});
    CHECK(format.sort_keys == std::vector<SortKey>{{"ntasks", true}, {"name", false}});
    CHECK(format.tail == "+: end");
    CHECK(format.fields[1].before == " +");
    CHECK(!format.fields[1].widen);
    constexpr std::string_view names[] = {"name"};
    CHECK(Listing(format.without(names), {}, true).header() == "JOBID+: end");
    CHECK(Format::parse("sort:name{id}", headings).sort_keys.size() == 1);
    CHECK(Format::parse("sort:name  x", headings).tail == " x");
    CHECK_THROWS_WITH(Format::parse("sort:x {id}", headings), "Invalid sort key: x");
    CHECK_THROWS_WITH(parse_sort_keys("name,-y", headings), "Invalid sort key: y");
}

TEST_CASE("listing: order", "[output]") {
    const std::vector<Item> items = {
        {{"name", "b"}, {"ntasks", 2}},       // 0
        {{"name", "10"}, {"ntasks", "9"}},    // 1
        {{"name", ""}, {"ntasks", Absent{}}}, // 2
        {{"name", "a"}, {"ntasks", 10.5}},    // 3
        {{"name", "-"}, {"ntasks", true}},    // 4
        {{"name", "9"}, {"ntasks", 2}},       // 5
        {{"name", "nan"}, {"ntasks", -1}},    // 6
    };
    const auto rows = rows_of(items);
    using Order = std::vector<std::size_t>;
    CHECK(sorted(rows, parse_sort_keys("name", headings)) == Order{2, 4, 5, 1, 3, 0, 6});
    CHECK(sorted(rows, parse_sort_keys("ntasks", headings)) == Order{2, 6, 4, 0, 5, 1, 3});
    CHECK(sorted(rows, parse_sort_keys("-ntasks", headings)) == Order{3, 1, 0, 5, 4, 6, 2});
    CHECK(sorted(rows, parse_sort_keys("ntasks,name", headings)) == Order{2, 6, 4, 5, 0, 1, 3});
    CHECK(sorted(rows, {}) == Order{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("listing: blank lines", "[output]") {
    CHECK(is_blank(""));
    CHECK(is_blank(" \t"));
    CHECK(!is_blank(" x"));
}
