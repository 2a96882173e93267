#include <flux/error.hpp>
#include <flux/remote_command.hpp>

#include <cerrno>
#include <charconv>

namespace flux {
namespace {

/// A number with a binary suffix k, K, M, G, T, P or E.
std::size_t parse_size(const std::string& option, std::string_view text) {
    double number = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
    constexpr std::string_view suffixes = "KMGTPE";
    double factor = 1;
    if (suffix == "k") suffix = "K";
    if (!suffix.empty()) {
        auto power = suffix.size() == 1 ? suffixes.find(suffix[0]) : std::string_view::npos;
        if (power == std::string_view::npos) failure = std::errc::invalid_argument;
        for (std::size_t i = 0; failure == std::errc() && i <= power; ++i) factor *= 1024;
    }
    number *= factor;
    if (failure != std::errc() || !(number >= 1) || number > 1e18)
        throw Error(EINVAL, option + ": '" + std::string(text) + "' is not a size");
    return static_cast<std::size_t>(number);
}

} // namespace

Json RemoteCommand::encode() const {
    auto environment = Json::object();
    for (const auto& entry : command.env) {
        auto equals = entry.find('=');
        if (equals == std::string::npos) continue;
        environment.set(std::string_view(entry).substr(0, equals), std::string_view(entry).substr(equals + 1));
    }
    auto opts = Json::object();
    for (const auto& [name, value] : options) opts.set(name, value);
    auto json = Json::object();
    if (!command.cwd.empty()) json.set("cwd", command.cwd);
    json.set("cmdline", command.argv);
    json.set("env", std::move(environment));
    json.set("opts", std::move(opts));
    json.set("channels", channels);
    if (!label.empty()) json.set("label", label);
    return json;
}

RemoteCommand RemoteCommand::decode(JsonView json) {
    RemoteCommand result;
    try {
        result.command.argv = json.get<std::vector<std::string>>("cmdline");
        auto environment = json.get<JsonView>("env");
        auto options = json.get<JsonView>("opts");
        if (!environment.is_object() || !options.is_object()) throw Error(EPROTO);
        for (auto [name, value] : environment.members()) {
            std::string entry(name);
            entry.append("=").append(value.as<std::string_view>());
            result.command.env.push_back(std::move(entry));
        }
        for (auto [name, value] : options.members()) result.options.emplace(name, value.as<std::string>());
        result.channels = json.get<std::vector<std::string>>("channels");
        result.command.cwd = json.get_optional<std::string>("cwd").value_or("");
        if (auto label = json.get_optional<std::string>("label")) {
            if (label->empty()) throw Error(EINVAL, "command label is empty");
            result.label = std::move(*label);
        }
    } catch (const Error& error) {
        if (error.errnum() == EPROTO) throw Error(EPROTO, "error parsing command string");
        throw;
    }
    if (result.command.argv.empty()) throw Error(EPROTO, "command string is empty");
    return result;
}

std::size_t RemoteCommand::buffer_size(const std::string& stream) const {
    auto found = options.find(stream + "_BUFSIZE");
    return found == options.end() ? default_pipe_limit : parse_size(found->first, found->second);
}

ReadMode RemoteCommand::read_mode(const std::string& stream) const {
    auto found = options.find(stream + "_LINE_BUFFER");
    return found != options.end() && found->second == "false" ? ReadMode::raw : ReadMode::line;
}

std::string RemoteCommand::name() const {
    const auto& argv = command.argv;
    if (argv[0] == "flux" && argv.size() > 1) return "flux " + argv[1];
    return argv[0];
}

} // namespace flux
