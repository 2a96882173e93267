// The command object of RFC 42.
#pragma once

#include <flux/json.hpp>
#include <flux/pipe.hpp>
#include <flux/spawn.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace flux {

class RemoteCommand {
public:
    RemoteCommand() {}
    explicit RemoteCommand(std::vector<std::string> arguments) : command(std::move(arguments)) {}

    Command command; ///< argv, env (empty: the server's), cwd
    std::string label;
    std::map<std::string, std::string> options; ///< `NAME_BUFSIZE`, `NAME_LINE_BUFFER`, ...
    std::vector<std::string> channels;          ///< extra streams, each both ways

    Json encode() const;
    /// \throws Error EPROTO `error parsing command string`, `command string is empty`; EINVAL for an empty label.
    static RemoteCommand decode(JsonView json);

    /// Size of a stream's buffer. \throws Error EINVAL when the option is no size.
    std::size_t buffer_size(const std::string& stream) const;
    ReadMode read_mode(const std::string& stream) const;
    /// How listings call it: the program, with the subcommand of `flux`.
    std::string name() const;
};

} // namespace flux
