#include "store.hpp"

#include <flux/content_protocol.hpp>

#include <cerrno>
#include <climits>

namespace flux::kvs_store {
namespace {

// Blobs of a value that are asked for at once: the log of a long job has thousands.
constexpr std::size_t load_window = 128;

std::string_view bytes_of(const Message& response) {
    return response.payload ? response.payload.bytes() : std::string_view();
}

Error directory_error(const Blobref& ref, const Error& error) {
    return Error(error.errnum(), "kvs: directory " + ref.to_string() + ": " + error.what());
}

} // namespace

Store::Store(Handle& handle) : handle_(handle), cache_(default_cache_limit) {}

Call Store::load(const Blobref& ref) {
    return handle_.call(content_protocol::load.topic, Payload::from_bytes(std::string(ref.digest())));
}

DirectorySource Store::source(const Loaded& loaded) {
    return [this, &loaded](const Blobref& ref) -> DirectoryPtr {
        auto failure = loaded.failures.find(ref);
        if (failure != loaded.failures.end()) throw failure->second;
        auto directory = loaded.directories.find(ref);
        return directory != loaded.directories.end() ? directory->second : cache_.find(ref);
    };
}

Task<> Store::load_directories(std::unordered_set<Blobref> refs, Loaded* loaded) {
    std::vector<std::pair<Blobref, Call>> calls;
    for (const auto& ref : refs) calls.emplace_back(ref, load(ref));
    faults_ += refs.size();
    for (const auto& [ref, call] : calls) {
        try {
            auto response = co_await call;
            auto directory = Directory::decode(bytes_of(response));
            cache_.put(ref, directory);
            loaded->directories[ref] = std::move(directory);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            loaded->failures.emplace(ref, directory_error(ref, error));
        }
    }
}

Task<DirectoryPtr> Store::load_directory(Blobref ref) {
    if (auto cached = cache_.find(ref)) co_return cached;
    auto under_way = loads_.find(ref);
    if (under_way != loads_.end()) {
        auto load = under_way->second;
        while (!load->directory && !load->failure) co_await load->done.wait();
        if (load->failure) throw *load->failure;
        co_return load->directory;
    }
    ++faults_;
    auto shared = loads_[ref] = std::make_shared<Load>();
    try {
        auto response = co_await load(ref);
        shared->directory = Directory::decode(bytes_of(response));
        cache_.put(ref, shared->directory);
    } catch (const Cancelled&) {
        loads_.erase(ref);
        throw; // who else waits for it is cancelled too
    } catch (const Error& error) {
        shared->failure = directory_error(ref, error);
    }
    loads_.erase(ref);
    shared->done.notify_all();
    if (shared->failure) throw *shared->failure;
    co_return shared->directory;
}

Task<std::string> Store::load_value(std::vector<Blobref> refs) {
    std::string value;
    for (std::size_t first = 0; first < refs.size(); first += load_window) {
        std::vector<Call> calls;
        for (std::size_t i = first; i < refs.size() && i < first + load_window; ++i) calls.push_back(load(refs[i]));
        for (const auto& call : calls) {
            auto response = co_await call;
            auto bytes = bytes_of(response);
            if (bytes.size() > INT_MAX - value.size()) throw Error(EOVERFLOW);
            value += bytes;
        }
    }
    co_return value;
}

} // namespace flux::kvs_store
