#include <flux/kvs.hpp>

#include <cerrno>
#include <cstdlib>

namespace flux::kvs {
namespace {

Root read_root(JsonView payload) { return Root(payload.get<Blobref>("rootref"), payload.get<std::int64_t>("rootseq")); }

Root decode_root(Message response) { return read_root(response.json()); }

RootInfo decode_root_info(Message response) {
    auto payload = response.json();
    // Owners travel as signed numbers: -1 is "unknown".
    return RootInfo(read_root(payload), static_cast<std::uint32_t>(payload.get<std::int64_t>("owner")),
                    payload.get<int>("flags"));
}

Value decode_value(Message response) { return Value(std::move(response)); }

std::vector<NamespaceInfo> decode_list(Message response) {
    std::vector<NamespaceInfo> list;
    for (auto entry : response.json().get<JsonView>("namespaces").elements())
        list.push_back({entry.get<std::string>("namespace"),
                        static_cast<std::uint32_t>(entry.get<std::int64_t>("owner")), entry.get<int>("flags")});
    return list;
}

void check_key(std::string_view key) {
    if (key.empty()) throw Error(EINVAL, "kvs: key is empty");
}

} // namespace

std::string default_namespace() {
    const char* name = std::getenv("FLUX_KVS_NAMESPACE");
    return name ? std::string(name) : std::string(kvs_protocol::primary_namespace);
}

std::string normalize_key(std::string_view key) {
    std::string out;
    for (char c : key)
        if (c != '.' || out.empty() || out.back() != '.') out += c;
    if (out.size() > 1 && out.front() == '.') out.erase(0, 1);
    if (out.size() > 1 && out.back() == '.') out.pop_back();
    return out;
}

Json CommitOptions::payload(const Transaction& transaction) const {
    auto payload = Json::object("namespace", namespace_, "flags", flags_, "ops", transaction.to_json());
    if (!once_id_.empty()) payload.set("once", Json::object("id", once_id_, "seq", once_seq_));
    return payload;
}

Reply<Root> commit(Handle& handle, const Transaction& transaction, const CommitOptions& options) {
    return {handle.call(kvs_protocol::commit.topic, options.payload(transaction)), &decode_root};
}

Json Value::json() const {
    try {
        return Json::parse(bytes(), "kvs value");
    } catch (const Error& error) {
        throw Error(EINVAL, error.text());
    }
}

Reply<Value> lookup(Handle& handle, std::string_view key, const LookupOptions& options) {
    check_key(key);
    auto payload = Json::object("key", key, "flags", options.flags_);
    bool wait = options.flags_ & kvs_protocol::wait_create;
    if (wait && options.root_) throw Error(EINVAL, "kvs: a key of an old version cannot be waited for");
    if (options.root_)
        payload.set("rootdir", treeobj::make_dirref(*options.root_));
    else
        payload.set("namespace", options.namespace_);
    const auto& method = wait ? kvs_watch_protocol::lookup : kvs_protocol::lookup;
    return {handle.call(method.topic, std::move(payload)), &decode_value};
}

namespace {

Stream start_watch(Handle& handle, std::string_view key, const std::string& name_space, int flags) {
    check_key(key);
    return handle.stream(kvs_watch_protocol::lookup.topic,
                         Json::object("key", key, "namespace", name_space, "flags", flags));
}

} // namespace

Watch::Watch(Handle& handle, std::string_view key, const WatchOptions& options)
    : stream_(start_watch(handle, key, options.namespace_,
                          options.flags_ | (options.pieces_only_ ? kvs_protocol::stream : kvs_protocol::watch))) {}

std::optional<Value> Watch::Awaiter::await_resume() {
    auto response = next_.await_resume();
    if (!response) return std::nullopt;
    return Value(std::move(*response));
}

Reply<RootInfo> getroot(Handle& handle, std::string_view name_space) {
    return {handle.call(kvs_protocol::getroot.topic, Json::object("namespace", name_space, "flags", 0)),
            &decode_root_info};
}

Reply<Root> wait_version(Handle& handle, std::int64_t sequence, std::string_view name_space) {
    return {handle.call(kvs_protocol::wait_version.topic, Json::object("rootseq", sequence, "namespace", name_space)),
            &decode_root};
}

Call namespace_create(Handle& handle, std::string_view name, const NamespaceOptions& options) {
    auto payload = Json::object("namespace", name, "owner", static_cast<std::int32_t>(options.owner_), "flags", 0);
    if (options.root_) payload.set("rootref", *options.root_);
    return handle.call(kvs_protocol::namespace_create.topic, std::move(payload), CallOptions().rank(0));
}

Call namespace_remove(Handle& handle, std::string_view name) {
    return handle.call(kvs_protocol::namespace_remove.topic, Json::object("namespace", name), CallOptions().rank(0));
}

Reply<std::vector<NamespaceInfo>> namespace_list(Handle& handle) {
    return {handle.call(kvs_protocol::namespace_list.topic), &decode_list};
}

} // namespace flux::kvs
