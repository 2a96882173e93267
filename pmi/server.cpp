#include <flux/error.hpp>

#include <cassert>
#include <cerrno>
#include <pmi/server.hpp>
#include <utility>

namespace flux::pmi {

namespace {

constexpr Limits limits;
/// Keys that start so stay on the node: the node attributes of PMI-2.
constexpr std::string_view local_prefix = "local::";

std::string result(const char* command, int code) {
    return std::string("cmd=") + command + " rc=" + std::to_string(code);
}

/// The code that a put or get earns by the length of its kvsname and key. The kvsname has no other meaning here.
Code check_names(const Line& line) {
    if (line.get("kvsname").size() >= limits.kvsname) return invalid_length;
    if (line.get("key").size() >= limits.key) return invalid_key_length;
    return success;
}

} // namespace

Server::Server(Options options) : options_(std::move(options)), clients_(options_.local_clients) {}

bool Server::preset(std::string_view key, std::string_view value) {
    if (key.size() >= limits.key || value.size() >= limits.value) return false;
    local_.insert_or_assign(std::string(key), std::string(value));
    return true;
}

Server::Outcome Server::feed(unsigned client, std::string_view line) {
    assert(client < clients_.size());
    Outcome outcome;
    try {
        command(client, Line(line), outcome);
    } catch (const Error& error) {
        if (!aborted_) throw error.while_doing("PMI");
    }
    return outcome;
}

void Server::command(unsigned client, const Line& line, Outcome& outcome) {
    auto& state = clients_[client];
    const auto reply = [&](std::string text) { outcome.replies.push_back({client, std::move(text) + '\n'}); };

    if (state.in_spawn) {
        if (line.text() != "endcmd") return;
        state.in_spawn = false;
        return reply(result("spawn_result", fail));
    }
    if (line.find("mcmd") == "spawn") {
        state.in_spawn = true;
        return;
    }

    const auto name = line.get("cmd");
    if (name == "init") return reply(init(line));
    if (name == "get_maxes")
        return reply(result("maxes", success) + " kvsname_max=" + std::to_string(limits.kvsname) +
                     " keylen_max=" + std::to_string(limits.key) + " vallen_max=" + std::to_string(limits.value));
    if (name == "get_appnum") return reply(result("appnum", success) + " appnum=0");
    if (name == "get_my_kvsname") return reply(result("my_kvsname", success) + " kvsname=" + options_.kvsname);
    if (name == "get_universe_size")
        return reply(result("universe_size", success) + " size=" + std::to_string(options_.universe_size));
    if (name == "put") return reply(put(line));
    if (name == "get") return reply(get(line));
    if (name == "barrier_in") return enter_barrier(client, outcome);
    if (name == "finalize") {
        outcome.finalized = true;
        return reply(result("finalize_ack", success));
    }
    if (name == "abort") {
        const auto code = line.find_int("exitcode");
        aborted_ = true;
        outcome.abort = Abort{code ? *code : line.find_int("exit_code").value_or(1),
                              std::string(line.find("error_msg").value_or("aborted"))};
        return;
    }
    for (const auto* refused : {"publish", "unpublish", "lookup"})
        if (name == std::string(refused) + "_name")
            return reply(result((std::string(refused) + "_result").c_str(), fail) + " msg=command not implemented");
    throw Error(EPROTO, "unknown command '" + std::string(name) + "'");
}

std::string Server::init(const Line& line) const {
    const std::pair version(line.get_int("pmi_version"), line.get_int("pmi_subversion"));
    if (version < std::pair(1, 1) || version.first == 2) return result("response_to_init", fail);
    return result("response_to_init", success) + " pmi_version=1 pmi_subversion=1";
}

std::string Server::put(const Line& line) {
    auto code = check_names(line);
    const auto key = line.get("key");
    const auto value = line.get("value");
    if (code == success && value.size() >= limits.value) code = invalid_value_length;
    if (code == success)
        (key.starts_with(local_prefix) ? local_ : pending_).insert_or_assign(std::string(key), std::string(value));
    return result("put_result", code);
}

std::string Server::get(const Line& line) const {
    const auto code = check_names(line);
    if (code != success) return result("get_result", code);
    const auto* value = find(line.get("key"));
    if (!value) return result("get_result", invalid_key);
    return result("get_result", success) + " value=" + *value;
}

const std::string* Server::find(std::string_view key) const {
    for (const auto* pairs : {&local_, &pending_, &global_})
        if (const auto found = pairs->find(key); found != pairs->end()) return &found->second;
    return nullptr;
}

void Server::enter_barrier(unsigned client, Outcome& outcome) {
    if (std::exchange(clients_[client].in_barrier, true)) throw Error(EPROTO, "client is in the barrier already");
    if (++entered_ < clients_.size()) return;
    if (clients_.size() < options_.universe_size)
        outcome.exchange = pending_;
    else
        outcome.replies = barrier_complete(pending_);
}

std::vector<Server::Reply> Server::barrier_complete(Pairs pairs) {
    pending_.clear();
    for (auto& [key, value] : pairs) global_.insert_or_assign(key, std::move(value));
    return leave_barrier(success);
}

std::vector<Server::Reply> Server::barrier_failed() { return leave_barrier(fail); }

std::vector<Server::Reply> Server::leave_barrier(int code) {
    std::vector<Reply> replies;
    entered_ = 0;
    for (unsigned client = 0; client < clients_.size(); ++client) {
        clients_[client].in_barrier = false;
        replies.push_back({client, result("barrier_out", code) + '\n'});
    }
    return replies;
}

} // namespace flux::pmi
