#include <flux/error.hpp>

#include <cerrno>
#include <pmi/client.hpp>
#include <pmi/session/methods.hpp>

namespace flux::pmi {
namespace {

/// The wire client, and the process that is alone: a client without a server answers itself.
class ClientSession final : public Session {
public:
    explicit ClientSession(Client client) : client_(std::move(client)) {
        client_.init();
        rank = client_.rank();
        size = client_.size();
        job = client_.kvsname();
    }
    void put(const std::string& key, const std::string& value) override { client_.put(key, value); }
    std::optional<std::string> find(const std::string& key) override { return client_.find(key); }
    void barrier() override { client_.barrier(); }
    void abort(int exit_code, const std::string& text) override { client_.abort(exit_code, text); }
    void finalize() override { client_.finalize(); }

private:
    Client client_;
};

} // namespace

std::unique_ptr<Session> open_simple() {
    auto client = Client::from_environment();
    if (client.singleton()) throw Error(ENOENT, "PMI_FD is not set");
    return std::make_unique<ClientSession>(std::move(client));
}

std::unique_ptr<Session> open_single() { return std::make_unique<ClientSession>(Client()); }

} // namespace flux::pmi
