#include "progress.hpp"

#include <flux/kvs_protocol.hpp>
#include <flux/treeobj.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;
using namespace flux::kvs_watch;
namespace flag = kvs_protocol;

namespace {

Blobref blob(char c) { return Blobref(HashKind::sha1, std::string(20, c)); }
Json valref(std::string_view chars) {
    std::vector<Blobref> blobs;
    for (char c : chars) blobs.push_back(blob(c));
    return treeobj::make_valref(blobs);
}

// What is sent: a value as itself, a piece as its letter, `$` for the sentinel, `.` for the end, `!ERRNO` for a
// failure.
std::string send(Progress& progress, const Json& object, Cause cause = Cause::named) {
    std::string out;
    try {
        auto action = object.is_null() ? progress.missing() : progress.found(object, cause);
        if (action.value) {
            if (treeobj::type_of(*action.value) == treeobj::Type::val)
                out += treeobj::value_of(*action.value);
            else
                out += action.value->get<std::string>("type");
        }
        for (const auto& piece : action.pieces) {
            out += piece.digest()[0];
            progress.sent(piece);
        }
        if (action.sentinel) {
            out += '$';
            progress.sent_sentinel();
        }
        if (action.end) out += '.';
    } catch (const Error& error) {
        out += '!';
        out += ::strerrorname_np(error.errnum());
    }
    return out;
}

Json val(std::string_view text) { return treeobj::make_val(text); }

int refusal(int flags, bool streaming = true) {
    try {
        Progress progress(flags, streaming);
    } catch (const Error& error) {
        return error.errnum();
    }
    return 0;
}

} // namespace

TEST_CASE("watch: combinations of flags", "[kvs]") {
    CHECK(refusal(flag::watch, false) == EPROTO);
    CHECK(refusal(flag::stream, false) == EPROTO);
    CHECK(refusal(flag::watch | flag::stream) == EINVAL);
    for (int bit : {flag::watch_full, flag::watch_unique, flag::watch_append, flag::watch_initial_sentinel})
        CHECK(refusal(bit) == EINVAL);
    CHECK(refusal(flag::watch | flag::watch_initial_sentinel) == EINVAL);
    CHECK(refusal(flag::watch | flag::watch_append | flag::watch_initial_sentinel) == 0);
    CHECK(refusal(flag::wait_create, false) == 0);
}

TEST_CASE("watch: values", "[kvs]") {
    Progress plain(flag::watch, true), unique(flag::watch | flag::watch_unique, true),
        full(flag::watch | flag::watch_full, true);
    for (auto* progress : {&plain, &unique, &full}) CHECK(send(*progress, val("1")) == "1");
    CHECK(send(plain, val("1")) == "1");
    CHECK(send(plain, val("1"), Cause::changed) == "");
    CHECK(send(unique, val("1")) == "");
    CHECK(send(unique, val("2")) == "2");
    CHECK(send(full, val("1")) == "");
    CHECK(send(full, treeobj::make_dir()) == "dir");
    CHECK(send(plain, Json()) == "!ENOENT");
}

TEST_CASE("watch: a key that does not exist yet", "[kvs]") {
    Progress none(flag::watch, true), wait(flag::watch | flag::wait_create, true), once(flag::wait_create, false);
    CHECK(send(none, Json()) == "!ENOENT");
    CHECK(send(wait, Json()) == "");
    CHECK(send(wait, Json()) == "");
    CHECK(send(wait, val("x")) == "x");
    CHECK(send(wait, Json()) == "!ENOENT");
    CHECK(send(once, Json()) == "");
    CHECK(send(once, val("x")) == "x.");
}

TEST_CASE("watch: appends", "[kvs]") {
    constexpr int flags = flag::watch | flag::watch_append;
    Progress blobs(flags, true), inlined(flags, true), sentinel(flags | flag::watch_initial_sentinel, true);
    Progress waits(flags | flag::watch_initial_sentinel | flag::wait_create, true);
    CHECK(send(blobs, valref("abc")) == "abc");
    CHECK(send(blobs, valref("abc")) == "");
    CHECK(send(blobs, valref("abcde")) == "de");
    CHECK(send(blobs, valref("abxde")) == "");
    CHECK(send(blobs, valref("abcdxy")) == "!EINVAL");
    CHECK(send(blobs, valref("abc")) == "!EINVAL");
    CHECK(send(blobs, val("x")) == "!EINVAL");
    CHECK(send(inlined, val("old")) == "old");
    CHECK(send(inlined, val("old"), Cause::changed) == "");
    CHECK(send(inlined, valref("ab")) == "b");
    CHECK(send(inlined, val("x")) == "!EINVAL");
    CHECK(send(sentinel, valref("ab")) == "ab$");
    CHECK(send(sentinel, valref("abc")) == "c");
    CHECK(send(waits, Json()) == "$");
    CHECK(send(waits, Json()) == "");
    CHECK(send(waits, val("x")) == "x");
    for (auto* object : {"dir", "symlink"}) {
        Progress other(flags, true);
        bool dir = std::string_view(object) == "dir";
        auto found = dir ? treeobj::make_dir() : treeobj::make_symlink("x");
        CHECK(send(other, found) == (dir ? "!EISDIR" : "!EINVAL"));
    }
}

TEST_CASE("watch: a value in pieces, once", "[kvs]") {
    Progress blobs(flag::stream, true), inlined(flag::stream, true);
    CHECK(send(blobs, valref("abc")) == "abc.");
    CHECK(send(inlined, val("x")) == "x.");
}

TEST_CASE("watch: another instance goes on from the cursor", "[kvs]") {
    constexpr int flags = flag::watch | flag::watch_append | flag::watch_initial_sentinel;
    Progress old(flags, true), interrupted(flags, true), value(flag::watch, true);
    send(old, valref("ab"));
    auto action = interrupted.found(valref("abc"), Cause::named);
    interrupted.sent(action.pieces[0]);
    send(value, val("1"));

    Progress old2(flags, true), interrupted2(flags, true), value2(flag::watch, true);
    old2.restore(old.cursor());
    CHECK(send(old2, valref("abcd"), Cause::changed) == "cd");
    interrupted2.restore(interrupted.cursor());
    CHECK(send(interrupted2, valref("abcd"), Cause::changed) == "bcd$");
    value2.restore(value.cursor());
    CHECK(send(value2, val("1"), Cause::changed) == "");
    CHECK(send(value2, val("2"), Cause::changed) == "2");
}
