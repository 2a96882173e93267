#include <flux/job_id.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <clocale>
#include <cstdlib>

using flux::Error;
using flux::JobId;
using flux::Json;

TEST_CASE("job_id: all forms", "[job_id]") {
    struct Row {
        std::uint64_t value;
        const char *hex, *dothex, *words, *f58plain, *emoji;
    };
    auto row = GENERATE(values<Row>({
        {0, "0x0", "0000.0000.0000.0000", "academy-academy-academy--academy-academy-academy", "f1", "😃"},
        {1, "0x1", "0000.0000.0000.0001", "acrobat-academy-academy--academy-academy-academy", "f2", "😄"},
        {57, "0x39", "0000.0000.0000.0039", "aztec-academy-academy--academy-academy-academy", "fz", "🙊"},
        {58, "0x3a", "0000.0000.0000.003a", "balance-academy-academy--academy-academy-academy", "f21", "💌"},
        {1023, "0x3ff", "0000.0000.0000.03ff", "serpent-academy-academy--academy-academy-academy", "fJe", "😄📚"},
        {16777216, "0x1000000", "0000.0000.0100.0000", "clean-photo-adrian--academy-academy-academy", "f2UzHM", "😼🕚💞"},
        {6731191091817518, "0x17e9fb8df16c2e", "0017.e9fb.8df1.6c2e", "reform-remote-galileo--heart-package-academy",
         "fuZZybuNNy", "👩💅📓😸👑🚓"},
        {9223372036854775808u, "0x8000000000000000", "8000.0000.0000.0000",
         "academy-academy-academy--avalon-little-armada", "fNQm6nKp8qFD", "🍵🕒🐸📉🚇🏧🔞"},
        {1234567890123456789, "0x112210f47de98115", "1122.10f4.7de9.8115", "ariel-verbal-zodiac--october-paper-caravan",
         "f3sDK21t5nHJ", "😩📨🎱🌽🔪🐒📣"},
        {18446744073709551615u, "0xffffffffffffffff", "ffff.ffff.ffff.ffff",
         "natural-analyze-verbal--natural-analyze-verbal", "fjpXCZedGfVQ", "🚹💗💧👗😷📷📚"},
    }));
    JobId id(row.value);
    CHECK(id.dec() == std::to_string(row.value));
    CHECK(id.hex() == row.hex);
    CHECK(id.dothex() == row.dothex);
    CHECK(id.kvs() == std::string("job.") + row.dothex);
    CHECK(id.words() == row.words);
    CHECK(id.f58plain() == row.f58plain);
    CHECK(id.emoji() == row.emoji);
    for (auto form : {"dec", "hex", "DotHex", "kvs", "words", "F58", "f58plain", "emoji"}) {
        INFO(form);
        CHECK(JobId::parse(id.encode(form)) == id);
    }
    CHECK(JobId::parse("ƒ" + std::string(row.f58plain + 1)) == id);
}

TEST_CASE("job_id: more texts that parse", "[job_id]") {
    struct Row {
        const char* text;
        std::uint64_t value;
    };
    auto row = GENERATE(values<Row>({
        {"😁👌", 1234},
        {"💁📚", 65535},
        {"😠🙇📍", 12342435},
        {"😪🏭🐭🍑👨", 2034152287593},
        {"🎆🍧🎆🐾🕓😃", 21900760568561664},
        {"🚹💂🙌😳💱🏃", 32031603597246464},
        {"ff", 38},
        {"foo", 2714},
        {"0.0.0.1", 1},
        {"1.2.3.4", 0x0001000200030004},
        {"job.0000.0000.0000.0001", 1},
        {"job.ƒuZZybuNNy", 6731191091817518},
        {" 1", 1},
        {"1 ", 1},
        {"0x1f\n", 31},
        {"007", 7},
        {"ACROBAT academy Academy-academy-academy-academy", 1},
    }));
    INFO(row.text);
    CHECK(JobId::parse(row.text).value() == row.value);
}

TEST_CASE("job_id: what does not parse", "[job_id]") {
    std::string text =
        GENERATE("f", "f0", "fO", "0x", "", "1x", "0x1g", "f1 ", "/job/1", "18446744073709551616",
                 "0x10000000000000000", "fjpXCZedGfVR", "f1111111111111", "-1", "+1", "ƒ", "1.2.3", "1.2.3.4.5",
                 "1.2.3.", "10000.0.0.0", "0.0.0.g", "academy-academy", "academy-academy-amen--academy-academy-academy",
                 "yes-yes-yes-yes-yes-yes", "academy-academy-academy-academy-academy-academy-academy", "🚹💗💧👗😷📷📛",
                 "😃😃😃😃😃😃😃🚹", "🚹🚹🚹🚹🚹🚹🚹🚹", "\xf0\x9f", "\xf0\x9f\x80\x80", "job.", "job.job.1");
    INFO(text);
    CHECK(!JobId::try_parse(text));
    CHECK_THROWS_WITH(JobId::parse(text), "invalid job id '" + text + "'");
}

TEST_CASE("job_id: f58 follows the locale", "[job_id]") {
    std::string before = std::setlocale(LC_CTYPE, nullptr);
    std::setlocale(LC_CTYPE, "C");
    CHECK(JobId(1).f58() == "f2");
    REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8"));
    CHECK(JobId(1).f58() == "ƒ2");
    ::setenv("FLUX_F58_FORCE_ASCII", "1", 1);
    CHECK(JobId(1).f58() == "f2");
    ::unsetenv("FLUX_F58_FORCE_ASCII");
    std::setlocale(LC_CTYPE, before.c_str());
}

TEST_CASE("job_id: unknown form", "[job_id]") {
    try {
        JobId(1).encode("roman");
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.errnum() == EPROTO);
    }
}

TEST_CASE("job_id: in JSON", "[job_id]") {
    auto payload = Json::object("id", JobId(7), "any", JobId::any(), "text", "f7");
    CHECK(payload.dump() == R"({"id":7,"any":-1,"text":"f7"})");
    CHECK(payload.get<JobId>("any") == JobId::any());
    CHECK_THROWS_WITH(payload.get<JobId>("text"), "key 'text': expected job id, got string");
    CHECK(Json::array_of(1, 2).as<std::vector<JobId>>().back() == JobId(2));
    CHECK(JobId(0x1000c03).timestamp() == 1);
    CHECK(JobId(0x1000c03).generator() == 3);
    CHECK(JobId(0x1000c03).sequence() == 3);
}
