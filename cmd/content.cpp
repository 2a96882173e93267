// flux content: blobs and checkpoints of the content store (kvs-content.md 9.1).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/store/blob_store.hpp"

#include <flux/blobref.hpp>
#include <flux/content_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <ctime>
#include <deque>
#include <iostream>
#include <iterator>

namespace flux::cmd {
namespace {

namespace protocol = content_protocol;
namespace backing = content_backing_protocol;

// Requests that wait for their answers at a time.
constexpr std::size_t window = 64;

// The cache here, or past it the store on rank 0.
class Target {
public:
    explicit Target(bool bypass) : bypass_(bypass) {}
    Call call(Handle& handle, const Method& cached, const Method& direct, Payload payload) const {
        if (bypass_) return handle.call(direct.topic, std::move(payload), CallOptions().rank(0));
        return handle.call(cached.topic, std::move(payload));
    }

private:
    bool bypass_;
};

Task<int> load(Handle* handle, Target target, std::vector<Blobref> refs) {
    std::deque<Call> calls;
    std::size_t next = 0;
    while (next < refs.size() || !calls.empty()) {
        for (; next < refs.size() && calls.size() < window; ++next) {
            auto digest = Payload::from_bytes(std::string(refs[next].digest()));
            calls.push_back(target.call(*handle, protocol::load, backing::load, std::move(digest)));
        }
        try {
            auto reply = co_await calls.front();
            auto bytes = reply.payload.bytes();
            if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
                throw Error(errno, "write: " + errno_text(errno));
        } catch (const Error& error) {
            throw error.while_doing("error loading blob");
        }
        calls.pop_front();
    }
    co_return 0;
}

int run_load(Context& context, const options::Parsed& parsed) {
    auto words = parsed.operands();
    if (words.empty()) {
        for (std::string line; std::getline(std::cin, line);) words.push_back(line);
        if (words.empty()) throw Error(EINVAL, "no blobref was given");
    }
    std::vector<Blobref> refs;
    for (const auto& word : words) refs.push_back(Blobref::parse(word));
    return context.run(&load, &context.handle(), Target(parsed.has("bypass-cache")), std::move(refs));
}

Task<int> store(Handle* handle, Target target, std::string bytes, std::size_t chunk_size) {
    auto hash = co_await handle->get_attr(protocol::hash_attribute);
    auto kind = parse_hash_kind(hash.value_or("sha1"));
    if (chunk_size == 0) chunk_size = bytes.size();
    std::deque<Call> calls;
    std::size_t next = 0;
    bool first = true; // nothing at all is a blob too
    while (first || next < bytes.size() || !calls.empty()) {
        for (; (first || next < bytes.size()) && calls.size() < window; next += chunk_size, first = false) {
            auto chunk = Payload::from_bytes(bytes.substr(next, chunk_size));
            calls.push_back(target.call(*handle, protocol::store, backing::store, std::move(chunk)));
        }
        try {
            auto reply = co_await calls.front();
            fmt::print("{}\n", Blobref(kind, reply.payload.bytes()).to_string());
        } catch (const Error& error) {
            throw error.while_doing("error storing blob");
        }
        calls.pop_front();
    }
    co_return 0;
}

int run_store(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto chunk_size = parsed.number<long long>("chunksize", 0);
    if (chunk_size < 0) throw parsed.usage_error();
    std::string bytes(std::istreambuf_iterator<char>(std::cin), {});
    return context.run(&store, &context.handle(), Target(parsed.has("bypass-cache")), std::move(bytes),
                       static_cast<std::size_t>(chunk_size));
}

Task<int> plain_call(Handle* handle, std::string topic) {
    co_await handle->call(topic);
    co_return 0;
}

int run_flush(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&plain_call, &context.handle(), std::string(protocol::flush.topic));
}

int run_dropcache(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&plain_call, &context.handle(), std::string(protocol::dropcache.topic));
}

std::string time_text(double seconds) {
    auto time = static_cast<std::time_t>(seconds);
    tm utc{};
    ::gmtime_r(&time, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%TZ", &utc);
    return text;
}

Task<int> list_checkpoints(Handle* handle, bool header, bool json) {
    auto reply = co_await handle->call(protocol::checkpoint_get.topic, CallOptions().rank(0));
    if (header && !json) fmt::print("{:<10} {:<10} {:<20} {}\n", "Index", "Sequence", "Time", "Rootref");
    std::size_t index = 0;
    for (auto value : reply.json()["value"].elements()) {
        if (json)
            fmt::print("{}\n", value.dump());
        else
            fmt::print("{:<10} {:<10} {:<20} {}\n", index, value.get_or("sequence", 0),
                       time_text(value.get_or("timestamp", 0.0)), value.get<std::string_view>("rootref"));
        ++index;
    }
    co_return 0;
}

int run_checkpoint_list(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&list_checkpoints, &context.handle(), !parsed.has("no-header"), parsed.has("json"));
}

Task<int> update_checkpoint(Handle* handle, Blobref root) {
    co_await store::require_no_kvs(handle, "updating checkpoint");
    store::Checkpoint checkpoint;
    checkpoint.root = root;
    checkpoint.timestamp = store::now();
    store::BlobStore backing_store(*handle, true);
    auto value = checkpoint.to_json();
    co_await backing_store.put_checkpoint(std::move(value));
    co_return 0;
}

int run_checkpoint_update(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    return context.run(&update_checkpoint, &context.handle(), Blobref::parse(parsed.operands()[0]));
}

using options::Value;
constexpr options::Option load_options[] = {
    {.name = "bypass-cache", .key = 'b', .help = "load from the backing store of rank 0"},
};
constexpr options::Option store_options[] = {
    {.name = "bypass-cache", .key = 'b', .help = "store in the backing store of rank 0"},
    {.name = "chunksize", .value = Value::required, .argument = "N", .help = "make blobs of N bytes (0: one blob)"},
};
constexpr options::Option list_options[] = {
    {.name = "no-header", .key = 'n', .help = "print no header"},
    {.name = "json", .key = 'j', .help = "print one JSON object per line"},
};
constexpr options::Command checkpoint_commands[] = {
    {.name = "list",
     .synopsis = "[OPTIONS]",
     .help = "List checkpoints, newest first",
     .options = list_options,
     .run = &run_checkpoint_list},
    {.name = "update", .synopsis = "BLOBREF", .help = "Make a blob the root of the KVS", .run = &run_checkpoint_update},
};
constexpr options::Command subcommands[] = {
    {.name = "load",
     .synopsis = "[OPTIONS] [BLOBREF...]",
     .help = "Write blobs to stdout",
     .options = load_options,
     .run = &run_load},
    {.name = "store",
     .synopsis = "[OPTIONS]",
     .help = "Store stdin, print its blobref",
     .options = store_options,
     .run = &run_store},
    {.name = "flush", .help = "Write what is not yet written", .run = &run_flush},
    {.name = "dropcache", .help = "Drop what the cache need not keep", .run = &run_dropcache},
    {.name = "checkpoint",
     .synopsis = "COMMAND [OPTIONS]",
     .help = "Look at and change checkpoints",
     .subcommands = checkpoint_commands},
};

} // namespace

extern const options::Command cmd_content;
const options::Command cmd_content{.name = "content",
                                   .program = "flux-content",
                                   .synopsis = "COMMAND [OPTIONS]",
                                   .help = "Access the content store",
                                   .subcommands = subcommands};

} // namespace flux::cmd
