// flux archive list, extract
#include "libflux/file_archive/extract.hpp"

#include "cmd/archive/subcommands.hpp"
#include "cmd/store/blob_store.hpp"

#include <flux/duration.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <chrono>
#include <deque>
#include <sys/stat.h>

namespace flux::archive {
namespace {

// Blobs on their way from the store.
constexpr std::size_t window = 4;

Task<Json> read_archive(Handle* handle, const options::Parsed* parsed, bool wait) {
    Names names(*parsed);
    CallOptions options;
    if (auto limit = wait ? parsed->get("waitcreate") : ""; !limit.empty())
        options.deadline(
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(parse_duration(limit))));
    auto payload = Json::object("key", names.key, "namespace", names.name_space, "flags",
                                wait ? static_cast<int>(kvs_protocol::wait_create) : 0);
    const auto& method = wait ? kvs_watch_protocol::lookup : kvs_protocol::lookup;
    try {
        kvs::Value value(co_await handle->call(method.topic, std::move(payload), options));
        co_return value.json();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        if (error.errnum() == ETIMEDOUT)
            throw Error(ETIMEDOUT, names.key + ": key was not created within timeout window");
        throw error.while_doing(names.key);
    }
}

char type_letter(unsigned mode) { return S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : 'f'; }

Task<int> list(Handle* handle, const options::Parsed* parsed, Selection selection) {
    auto archive = co_await read_archive(handle, parsed, false);
    for (const auto& [path, file] : file_archive::archived_files(archive)) {
        if (!selection.takes(path)) continue;
        if (parsed->has("raw")) {
            fmt::print("{}", file.dump());
        } else if (parsed->has("long")) {
            auto mode = file.get<unsigned>("mode");
            fmt::print("{} 0{:o} {:8} {}\n", type_letter(mode), mode & 0777, file.get_or("size", std::uint64_t(0)),
                       path);
        } else {
            fmt::print("{}\n", path);
        }
    }
    selection.finish(*parsed);
    co_return 0;
}

Task<> extract_file(const store::BlobStore* blobs, std::string path, JsonView file,
                    file_archive::ExtractOptions options) {
    file_archive::ExtractedFile out(".", path, file, options);
    auto pieces = file_archive::pieces_of(file);
    std::deque<Call> calls;
    std::size_t next = 0;
    for (const auto& piece : pieces) {
        for (; next < pieces.size() && calls.size() < window; ++next) calls.push_back(blobs->load(pieces[next].blob));
        try {
            auto response = co_await calls.front();
            calls.pop_front();
            out.write(piece, response.payload ? response.payload.bytes() : std::string_view());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.text().starts_with(path)) throw;
            throw error.while_doing(path);
        }
    }
    out.finish();
}

Task<int> extract(Handle* handle, const options::Parsed* parsed, Selection selection) {
    auto archive = co_await read_archive(handle, parsed, parsed->has("waitcreate"));
    store::BlobStore blobs(*handle, false);
    file_archive::ExtractOptions options;
    options.overwrite = parsed->has("overwrite");
    auto mask = ::umask(0);
    ::umask(mask);
    options.mask &= ~mask;
    for (const auto& [path, file] : file_archive::archived_files(archive)) {
        if (!selection.takes(path)) continue;
        if (parsed->has("list-only")) {
            fmt::print("{}\n", path);
            continue;
        }
        if (parsed->has("verbose")) fmt::print(stderr, "{}\n", path);
        co_await extract_file(&blobs, path, file, options);
    }
    selection.finish(*parsed);
    co_return 0;
}

} // namespace

int run_list(cmd::Context& context, const options::Parsed& parsed) {
    return context.run(&list, &context.handle(), &parsed, Selection(parsed));
}

int run_extract(cmd::Context& context, const options::Parsed& parsed) {
    Selection selection(parsed);
    change_directory(parsed);
    return context.run(&extract, &context.handle(), &parsed, std::move(selection));
}

} // namespace flux::archive
