// The R of the job that this instance is, from the instance it runs in.
#pragma once

#include <flux/handle.hpp>
#include <flux/job_id.hpp>
#include <flux/resource_set.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace flux::resource {

class Parent {
public:
    /// \throws Error when there is no way to the parent
    Parent(Loop& loop, const std::string& uri, JobId job);

    /// R as it is now. \throws Error
    Task<ResourceSet> resources(bool watch);
    /// Report each later expiration; ends when the parent has no more to tell.
    Task<> follow(std::function<void(double expiration)> on_change);

private:
    std::unique_ptr<Handle> handle_;
    JobId job_;
    std::optional<Stream> updates_;
};

} // namespace flux::resource
