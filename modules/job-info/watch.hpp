// An open stream about a job, with the task that serves it.
#pragma once

#include "access.hpp"

#include <flux/handle.hpp>
#include <flux/job_id.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace flux::job_info {

class Watch {
public:
    /// What a watch works with.
    class Context {
    public:
        Context(Handle& handle, Scope& scope, Access& access) : handle(handle), scope(scope), access(access) {}
        Handle& handle;
        Scope& scope; ///< that of the module
        Access& access;
    };

    virtual ~Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    /// What was sent, for another instance to go on.
    virtual Json cursor() const = 0;
    const Request& request() const noexcept { return request_; }

protected:
    /// \throws Error EPROTO when the request is not streaming
    Watch(Context& context, Request request);

    Handle& handle() const noexcept { return context_.handle; }
    Access& access() const noexcept { return context_.access; }
    JobId id() const noexcept { return id_; }
    /// Tasks of this watch; they end with it.
    Scope& scope() noexcept { return scope_; }

private:
    friend class Watches;
    /// Serve the stream to its normal end.
    virtual Task<> run() = 0;
    static Task<> serve(Watch* self);

    Context& context_;
    Request request_;
    JobId id_;
    Scope scope_;
};

/// All open watches of one kind.
class Watches {
public:
    std::size_t size() const noexcept { return watches_.size(); }
    void start(std::unique_ptr<Watch> watch);
    /// `{matchtag}`: that stream of the sender ends.
    void cancel(const Request& request);
    /// All streams of the sender end.
    void disconnect(const Request& request);
    /// The watch of an open request; null when there is none.
    const Watch* find(const Request& request) const noexcept;

private:
    std::vector<std::unique_ptr<Watch>> watches_;
};

} // namespace flux::job_info
