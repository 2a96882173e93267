#include "once_table.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace flux::kvs_store {
namespace {

// Writers in memory: more than shells that write at one time, so that the store is asked once for each.
constexpr std::size_t writer_limit = 65536;

} // namespace

OnceTable::Position OnceTable::touch(const std::string& id) {
    auto known = index_.find(id);
    if (known == index_.end()) return writers_.end();
    writers_.splice(writers_.begin(), writers_, known->second);
    return writers_.begin();
}

OnceTable::Verdict OnceTable::begin(const Request& request, const std::string& id, std::int64_t seq) {
    auto writer = touch(id);
    if (writer == writers_.end()) return Verdict::unknown;
    if (writer->busy && seq == writer->seq) {
        writer->repeats.push_back(request);
        return Verdict::answered;
    }
    if (writer->last == seq) {
        request.respond(writer->result.copy());
        return Verdict::answered;
    }
    if (writer->busy || (writer->last && seq != *writer->last + 1))
        throw Error(EINVAL, fmt::format("kvs: writer '{}': commit {} does not follow {}", id, seq,
                                        writer->busy ? writer->seq : *writer->last));
    writer->busy = true;
    writer->seq = seq;
    return Verdict::apply;
}

void OnceTable::learn(const std::string& id, std::optional<std::int64_t> seq, Json result) {
    if (index_.contains(id)) return;
    auto& writer = writers_.emplace_front();
    writer.id = id;
    writer.last = seq;
    writer.result = std::move(result);
    index_[id] = writers_.begin();
    shrink();
}

void OnceTable::finish(const std::string& id, std::int64_t seq, const Json& result) {
    auto writer = touch(id);
    writer->busy = false;
    writer->last = seq;
    writer->result = result.copy();
    for (const auto& repeat : std::exchange(writer->repeats, {})) repeat.respond(result.copy());
}

void OnceTable::fail(const std::string& id, const Error& error) {
    auto writer = touch(id);
    writer->busy = false;
    for (const auto& repeat : std::exchange(writer->repeats, {})) repeat.fail(error);
}

void OnceTable::shrink() {
    for (auto at = writers_.end(); writers_.size() > writer_limit && at != writers_.begin();) {
        --at;
        if (at->busy) continue;
        index_.erase(at->id);
        at = writers_.erase(at);
    }
}

} // namespace flux::kvs_store
