// The execution service's side of job-manager (RFC 32): starts jobs, turns its answers into events. A job whose shells
// may exist is never forgotten: when the service says hello again it is asked to take them over.
#pragma once

#include "core.hpp"

#include <flux/handle.hpp>

#include <string>

namespace flux::job_manager {

class Exec {
public:
    explicit Exec(Core& core) : core_(core) {}

    void hello(Request request);
    void disconnect(const Request& request);
    /// Start the job, or have it taken over, if it is time.
    void on_settled(Job& job);
    /// Topic to tell a running job's new expiration; empty when there is no service.
    std::string expiration_topic() const;

private:
    void close(std::string_view why);
    void on_answer(const Message& message);
    void apply(Job& job, std::string_view type, JsonView data);

    Core& core_;
    std::string sender_; // who said hello; empty: nobody
    std::string service_;
};

} // namespace flux::job_manager
