#include "cmd/start_control.hpp"

#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace flux::cmd {
namespace {

void answer(SocketTransport& transport, const Message& request, Json payload) {
    auto response = Message::response(request);
    response.payload = Payload::from_json(std::move(payload));
    transport.send(std::move(response));
}

} // namespace

StartControl::StartControl(Loop& loop, const std::string& path, Brokers brokers)
    : loop_(loop),
      brokers_(std::move(brokers)),
      listener_(loop, path, 0, [this](FileDescriptor socket, const ucred& peer) { admit(std::move(socket), peer); }) {}

StartControl::~StartControl() {
    for (auto& [key, client] : clients_) client->transport->flush(std::chrono::seconds(1));
}

void StartControl::admit(FileDescriptor socket, const ucred& peer) {
    unsigned char refusal = peer.uid == ::getuid() ? 0 : EPERM;
    if (::send(socket.get(), &refusal, 1, MSG_NOSIGNAL) != 1 || refusal) return;
    auto client = std::make_shared<Client>();
    client->transport = std::make_unique<SocketTransport>(loop_, socket.release());
    auto* key = client.get();
    clients_.emplace(key, std::move(client));
    key->transport->start([this, key](Message message) { on_message(clients_.at(key), message); },
                          [this, key](const Error&) { clients_.erase(key); });
}

void StartControl::on_message(const std::shared_ptr<Client>& client, const Message& request) {
    if (request.type != MessageType::request) return;
    try {
        if (auto payload = serve(client, request)) answer(*client->transport, request, std::move(*payload));
    } catch (const Error& error) {
        client->transport->send(Message::response_error(request, error.errnum(), error.what()));
    }
}

unsigned StartControl::rank_of(const Message& request) const {
    auto rank = request.payload.json().get<unsigned>("rank");
    if (rank >= brokers_.size) throw Error(ESRCH, "no such rank: " + std::to_string(rank));
    return rank;
}

std::optional<Json> StartControl::serve(const std::shared_ptr<Client>& client, const Message& request) {
    if (request.topic == "start.status") {
        auto procs = Json::array();
        for (unsigned rank = 0; rank < brokers_.size; ++rank)
            procs.append(Json::object("pid", brokers_.pid(rank) ? brokers_.pid(rank) : -1));
        return Json::object("procs", std::move(procs));
    }
    if (request.topic == "start.run") {
        auto rank = rank_of(request);
        if (brokers_.pid(rank)) throw Error(EEXIST, "broker " + std::to_string(rank) + " is running");
        ended_.erase(rank);
        brokers_.run(rank);
        return Json::object();
    }
    if (request.topic == "start.kill") {
        auto rank = rank_of(request);
        auto pid = brokers_.pid(rank);
        if (!pid) throw Error(ESRCH, "broker " + std::to_string(rank) + " is not running");
        if (::kill(pid, request.payload.json().get<int>("signum")) < 0) throw Error(errno);
        return Json::object();
    }
    if (request.topic == "start.wait") {
        auto rank = rank_of(request);
        if (auto found = ended_.find(rank); found != ended_.end()) return Json::object("exit_rc", found->second);
        if (!brokers_.pid(rank)) throw Error(ESRCH, "broker " + std::to_string(rank) + " was not started");
        if (auto found = waits_.find(rank); found != waits_.end() && !found->second.client.expired())
            throw Error(EEXIST, "somebody waits for broker " + std::to_string(rank) + " already");
        waits_.insert_or_assign(rank, Wait{client, request});
        return std::nullopt;
    }
    throw Error(ENOSYS);
}

void StartControl::on_exit(unsigned rank, int code) {
    ended_[rank] = code;
    auto node = waits_.extract(rank);
    if (node.empty()) return;
    if (auto client = node.mapped().client.lock())
        answer(*client->transport, node.mapped().request, Json::object("exit_rc", code));
}

} // namespace flux::cmd
