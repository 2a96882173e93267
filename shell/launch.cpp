#include "launch.hpp"

#include <flux/file_descriptor.hpp>
#include <flux/parse_integer.hpp>
#include <flux/resource_set.hpp>
#include <flux/shell_protocol.hpp>
#include <flux/sign.hpp>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::shell {
namespace {

// Larger than any jobspec and R that the KVS takes.
constexpr std::size_t max_size = std::size_t{256} << 20;

std::string read_all(int fd, const std::string& name) {
    std::string text;
    for (;;) {
        char buffer[16384];
        auto count = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw Error(errno).while_doing(name);
        if (count == 0) return text;
        text.append(buffer, static_cast<std::size_t>(count));
        if (text.size() > max_size) throw Error(EFBIG, name + ": too large");
    }
}

std::string read_text(const std::string& path) {
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw Error(errno).while_doing(path);
    return read_all(fd.get(), path);
}

Json read_file(const std::string& path) {
    auto text = read_text(path);
    return Json::parse(text, path);
}

// The jobspec that a user signed; only that user's shell may run it.
Json unwrap(std::string_view J, std::uint32_t userid) {
    auto request = SignedRequest::unwrap(J);
    if (request.userid != userid)
        throw Error(EPERM, "jobspec was signed by user " + std::to_string(request.userid) + ", not by " +
                               std::to_string(userid));
    return Json::parse(request.payload, "jobspec");
}

std::uint32_t to_number(std::string_view text, const char* what) {
    auto number = parse_integer<std::uint32_t>(text);
    if (!number) throw Error(EPROTO, std::string(what) + ": not a number: " + std::string(text));
    return *number;
}

} // namespace

Launch Launch::decode(JsonView json) {
    Launch launch;
    launch.id = json.get<JobId>("id");
    launch.userid = json.get<std::uint32_t>("userid");
    launch.owner = json.get<std::uint32_t>("owner");
    launch.broker_rank = json.get<std::uint32_t>("broker_rank");
    launch.R = json.get<JsonView>("R").copy();
    if (auto J = json.get_optional<std::string_view>("J"))
        launch.jobspec = unwrap(*J, launch.userid);
    else
        launch.jobspec = json.get<JsonView>("jobspec").copy();
    if (auto attributes = json["attrs"]) launch.attributes = attributes.copy();
    launch.cpusets = json.get_or<std::vector<Idset>>("cpusets", {});
    return launch;
}

std::optional<Launch> Launch::from_environment() {
    const char* variable = std::getenv(shell_protocol::init_variable);
    if (!variable) return std::nullopt;
    std::string path = variable;
    ::unsetenv(shell_protocol::init_variable);
    auto text = read_text(path);
    // What follows is the agent's.
    auto json = Json::parse(std::string_view(text).substr(0, text.find('\n')), path);
    return decode(json);
}

Launch Launch::from_files(JobId id, const std::string& jobspec, const std::string& R) {
    Launch launch;
    launch.id = id;
    launch.userid = launch.owner = ::getuid();
    launch.jobspec = read_file(jobspec);
    launch.R = read_file(R);
    auto ranks = ResourceSet::decode(launch.R).ranks();
    if (ranks.count() != 1) throw Error(EINVAL, R + ": expected one rank, got " + ranks.encode());
    launch.broker_rank = *ranks.first();
    launch.standalone = true;
    return launch;
}

Task<Launch> Launch::lookup(Handle* handle, JobId id) {
    auto keys = Json::array_of("J", "R");
    auto payload = Json::object("id", id, "keys", std::move(keys), "flags", 0);
    auto job = handle->call("job-info.lookup", std::move(payload));
    auto rank = handle->call("attr.get", Json::object("name", "rank"));
    auto owner = handle->call("attr.get", Json::object("name", "security.owner"));
    std::vector<Call> attributes;
    for (auto name : shell_protocol::launch_attributes)
        attributes.push_back(handle->call("attr.get", Json::object("name", name)));

    Launch launch;
    launch.id = id;
    launch.userid = ::getuid();
    auto job_reply = co_await job;
    auto rank_reply = co_await rank;
    auto owner_reply = co_await owner;
    launch.broker_rank = to_number(rank_reply.json().get<std::string_view>("value"), "rank");
    launch.owner = to_number(owner_reply.json().get<std::string_view>("value"), "security.owner");
    launch.jobspec = unwrap(job_reply.json().get<std::string_view>("J"), launch.userid);
    launch.R = Json::parse(job_reply.json().get<std::string_view>("R"), "R");
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        try {
            auto reply = co_await attributes[i];
            launch.attributes.set(shell_protocol::launch_attributes[i], reply.json().get<JsonView>("value").copy());
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
    }
    co_return launch;
}

} // namespace flux::shell
