#include "agent_links.hpp"

#include <flux/job_exec_protocol.hpp>

#include <cerrno>

namespace flux::job_exec {

namespace protocol = exec_agent_protocol;

// Ranks that get the same share one payload, which is encoded once.
void Outbox::flush(Handle& handle) {
    if (items_.size() == 1) {
        send(handle, items_[0].first, {0});
    } else if (!items_.empty()) {
        std::map<std::uint32_t, std::vector<std::size_t>> by_rank;
        for (std::size_t i = 0; i < items_.size(); ++i)
            for (auto rank : items_[i].first) by_rank[rank].push_back(i);
        std::map<std::vector<std::size_t>, Idset> groups;
        for (auto& [rank, items] : by_rank) groups[std::move(items)].set(rank);
        for (const auto& [items, ranks] : groups) send(handle, ranks, items);
    }
    items_.clear();
}

void Outbox::send(Handle& handle, const Idset& ranks, const std::vector<std::size_t>& items) const {
    auto list = Json::array();
    for (auto item : items) list.append(items_[item].second.copy());
    auto payload = Payload::from_json(Json::object(key_, std::move(list)));
    for (auto rank : ranks) handle.notify(method_.topic, payload, CallOptions().rank(rank));
}

AgentLinks::AgentLinks(Handle& handle, Events events)
    : handle_(handle),
      events_(std::move(events)),
      launches_(protocol::launch, "jobs"),
      signals_(protocol::signal, "jobs"),
      releases_(protocol::release, "jobs"),
      ends_(protocol::end, "ids"),
      forgets_(protocol::forget, "ids"),
      self_(std::make_shared<AgentLinks*>(this)) {}

AgentLinks::~AgentLinks() { *self_ = nullptr; }

void AgentLinks::greet(std::uint32_t rank) {
    auto session = ++last_session_;
    sessions_[rank] = session;
    silent_.insert(session);
    auto stream = handle_.stream(protocol::hello.topic, Payload(), CallOptions().rank(rank));
    std::move(stream).then([self = self_, rank, session](const Message& message) {
        if (*self) (*self)->on_response(rank, session, message);
    });
}

void AgentLinks::connect(std::uint32_t rank) {
    if (!connected(rank)) greet(rank);
}

void AgentLinks::on_response(std::uint32_t rank, std::uint64_t session, const Message& message) {
    bool first = silent_.erase(session) > 0;
    auto current = sessions_.find(rank);
    if (current == sessions_.end() || current->second != session) return; // a newer one has replaced it
    if (message.errnum() == 0) return events_.on_shells(rank, message.json().get<JsonView>("shells"), first);
    sessions_.erase(current);
    events_.on_down(rank, Error(message.errnum(), std::string(message.error_text())));
}

void AgentLinks::launch(const Idset& ranks, Json job) {
    launches_.add(ranks, std::move(job));
    flush_soon();
}

void AgentLinks::signal(const Idset& ranks, JobId id, int signum) {
    signals_.add(ranks, Json::array_of(id, signum));
    flush_soon();
}

void AgentLinks::release(const Idset& ranks, JobId id, int seq) {
    releases_.add(ranks, Json::array_of(id, seq));
    flush_soon();
}

void AgentLinks::end(const Idset& ranks, JobId id) {
    ends_.add(ranks, id);
    flush_soon();
}

void AgentLinks::forget(const Idset& ranks, JobId id) {
    forgets_.add(ranks, id);
    flush_soon();
}

void AgentLinks::expiration(const Idset& ranks, JobId id, double expiration) {
    auto payload = Payload::from_json(Json::object("id", id, "expiration", expiration));
    for (auto rank : ranks) handle_.notify(protocol::expiration.topic, payload, CallOptions().rank(rank));
}

void AgentLinks::flush_soon() {
    if (std::exchange(flushing_, true)) return;
    handle_.loop().post([self = self_] {
        if (!*self) return;
        auto& links = **self;
        links.flushing_ = false;
        for (auto* outbox : {&links.forgets_, &links.launches_, &links.releases_, &links.signals_, &links.ends_})
            outbox->flush(links.handle_);
    });
}

} // namespace flux::job_exec
