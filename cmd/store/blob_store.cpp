#include "cmd/store/blob_store.hpp"

#include <flux/content_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <chrono>

namespace flux::store {

namespace protocol = content_protocol;
namespace backing = content_backing_protocol;

Call BlobStore::load(const Blobref& blob) const {
    auto digest = Payload::from_bytes(std::string(blob.digest()));
    if (bypass_) return handle_.call(backing::load.topic, std::move(digest), CallOptions().rank(0));
    return handle_.call(protocol::load.topic, std::move(digest));
}

Call BlobStore::store(std::string bytes) const {
    auto payload = Payload::from_bytes(std::move(bytes));
    if (bypass_) return handle_.call(backing::store.topic, std::move(payload), CallOptions().rank(0));
    return handle_.call(protocol::store.topic, std::move(payload));
}

Call BlobStore::checkpoints() const {
    const auto& method = bypass_ ? backing::checkpoint_get : protocol::checkpoint_get;
    return handle_.call(method.topic, CallOptions().rank(0));
}

Call BlobStore::put_checkpoint(Json checkpoint) const {
    const auto& method = bypass_ ? backing::checkpoint_put : protocol::checkpoint_put;
    return handle_.call(method.topic, Json::object("value", std::move(checkpoint)), CallOptions().rank(0));
}

Checkpoint::Checkpoint(JsonView value)
    : root(value.get<Blobref>("rootref")),
      sequence(value.get_or("sequence", std::int64_t(0))),
      timestamp(value.get_or("timestamp", 0.0)) {
    auto version = value.get<int>("version");
    if (version != 0 && version != 1) throw Error(EINVAL, fmt::format("checkpoint of version {}", version));
}

Json Checkpoint::to_json() const {
    return Json::object("version", 1, "rootref", root, "sequence", sequence, "timestamp", timestamp);
}

Task<Checkpoint> newest_checkpoint(const BlobStore* store) {
    auto reply = co_await store->checkpoints();
    auto value = reply.json().get<JsonView>("value");
    auto newest = value.is_array() ? value[0] : value;
    if (!newest) throw Error(ENOENT);
    co_return Checkpoint(newest);
}

Task<HashKind> hash_kind(Handle* handle) {
    auto name = co_await handle->get_attr(protocol::hash_attribute);
    co_return parse_hash_kind(name.value_or("sha1"));
}

Task<> require_no_kvs(Handle* handle, std::string what) {
    try {
        co_await handle->call("kvs.ping", Json::object(), CallOptions().rank(0));
    } catch (const Error& error) {
        if (error.errnum() != ENOSYS) throw;
        co_return;
    }
    throw Error(EINVAL, "please unload kvs module before " + what);
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

} // namespace flux::store
