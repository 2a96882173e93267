// pmi — serves PMI-1 to the tasks (shell.md 8): a socket per task in PMI_FD, pairs exchanged between the shells of the
// job.
#include "exchange.hpp"

#include <flux/parse_integer.hpp>
#include <flux/paths.hpp>
#include <flux/shell.hpp>
#include <flux/shell_protocol.hpp>

#include <algorithm>
#include <cerrno>

namespace flux::shell {
namespace {

constexpr const char* channel = "PMI_FD";

pmi::Pairs decode(JsonView json) {
    pmi::Pairs pairs;
    for (auto [key, value] : json.members()) pairs.emplace(key, value.as<std::string>());
    return pairs;
}

Json encode(const pmi::Pairs& pairs) {
    auto json = Json::object();
    for (const auto& [key, value] : pairs) json.set(key, value);
    return json;
}

class Pmi final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        if (!wanted()) co_return;
        const auto& info = shell().info();
        tasks_ = shell().tasks();
        if (tasks_.empty()) co_return;
        server_.emplace(server_options());
        preset();
        set_environment();
        for (auto* task : tasks_)
            task->add_channel(channel, [this](ShellTask& task, std::string_view line, bool eof) {
                if (!eof) receive(task.local_id(), line);
            });
        // Shells without tasks take no part.
        for (auto node : info.taskmap.nodes()) shells_.push_back(node);
        auto position = std::lower_bound(shells_.begin(), shells_.end(), info.rank) - shells_.begin();
        auto fanout = shell().option("pmi-simple").find("exchange.k").try_as<std::size_t>().value_or(2);
        exchange_.emplace(static_cast<std::size_t>(position), shells_.size(), fanout);
        shell().receive(shell_protocol::pmi_exchange, [this](unsigned, JsonView pairs) { add(decode(pairs)); });
        shell().receive(shell_protocol::pmi_result, [this](unsigned, JsonView pairs) { complete(decode(pairs)); });
    }

    void task_init(ShellTask& task) override {
        if (!server_) return;
        task.environment()["PMI_RANK"] = std::to_string(task.rank());
        task.environment()["PMI_SIZE"] = std::to_string(shell().info().ntasks);
    }

private:
    bool wanted() const {
        auto option = shell().option("pmi");
        if (!option) return true;
        auto names = option.as<std::string>();
        for (std::size_t begin = 0; begin <= names.size();) {
            auto end = std::min(names.size(), names.find(',', begin));
            auto name = std::string_view(names).substr(begin, end - begin);
            if (name == "simple" || name == "pmi1" || name == "pmi2") return true;
            begin = end + 1;
        }
        return false;
    }

    pmi::Server::Options server_options() const {
        pmi::Server::Options options;
        options.kvsname = shell().info().f58;
        options.local_clients = static_cast<unsigned>(tasks_.size());
        options.universe_size = static_cast<unsigned>(shell().info().ntasks);
        return options;
    }

    void preset() {
        const auto& taskmap = shell().info().taskmap;
        if (shell().option("pmi-simple")["nomap"].try_as<int>().value_or(0) == 0) {
            if (!server_->preset("PMI_process_mapping", taskmap.encode_pmi()))
                shell().log(Level::warning, "pmi-simple",
                            "task map is too long for PMI_process_mapping, leaving it out");
            server_->preset("flux.taskmap", taskmap.to_json().dump());
        }
        // A broker among the tasks is one level below.
        auto level = parse_integer<unsigned>(shell().attribute("instance-level").value_or("0")).value_or(0);
        server_->preset("flux.instance-level", std::to_string(level + 1));
        if (auto hint = shell().attribute("tbon.interface-hint")) server_->preset("flux.tbon-interface-hint", *hint);
    }

    void set_environment() {
        auto directory = paths::libdir() + "/flux";
        auto& environment = shell().environment();
        environment["FLUX_PMI_LIBRARY_PATH"] = directory + "/libpmi.so";
        auto& path = environment["LD_LIBRARY_PATH"];
        path = path.empty() ? directory : directory + ':' + path;
        // Open MPI names its shared memory by host and local rank: two shells of a job on one host must not meet there.
        if (shell().option("mpi").try_as<std::string>() != "none")
            environment["OMPI_MCA_btl_vader_backing_directory"] = environment["FLUX_JOB_TMPDIR"];
    }

    void receive(unsigned client, std::string_view line) {
        if (line.ends_with('\n')) line.remove_suffix(1);
        try {
            auto outcome = server_->feed(client, line);
            answer(outcome.replies);
            if (outcome.abort) shell().raise("exec", 0, "PMI_Abort: " + outcome.abort->text);
            if (outcome.exchange) add(std::move(*outcome.exchange));
        } catch (const Error& error) {
            shell().fatal(1, std::string("PMI-1 wire protocol error: ") + error.what());
        }
    }

    void answer(const std::vector<pmi::Server::Reply>& replies) {
        for (const auto& [client, bytes] : replies) {
            try {
                tasks_[client]->write(channel, bytes);
            } catch (const Error&) {
                // A client that is gone needs no answer.
            }
        }
    }

    // The pairs of this shell or of a child's subtree.
    void add(pmi::Pairs pairs) {
        auto merged = exchange_->add(std::move(pairs));
        if (!merged) return;
        if (exchange_->root()) return complete(std::move(*merged));
        shell().send(shells_[exchange_->parent()], shell_protocol::pmi_exchange, encode(*merged));
    }

    void complete(pmi::Pairs pairs) {
        for (auto child : exchange_->children())
            shell().send(shells_[child], shell_protocol::pmi_result, encode(pairs));
        answer(server_->barrier_complete(std::move(pairs)));
    }

    std::vector<ShellTask*> tasks_; // by local id, which is the client's number
    std::optional<pmi::Server> server_;
    std::vector<unsigned> shells_; // that take part
    std::optional<PmiExchange> exchange_;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Pmi, "pmi")
