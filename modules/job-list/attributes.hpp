// Attributes of jobs, by name, as JSON.
#pragma once

#include "job.hpp"

#include <string>
#include <vector>

namespace flux::job_list {

struct Attribute;

/// Those that a request asks for.
class AttributeSet {
public:
    /// \param names  an array of names, or of `all`. \throws Error EPROTO, EINVAL `X is not a valid attribute`
    explicit AttributeSet(JsonView names);

    /// The id and what of these the job has.
    Json describe(const Job& job) const;

private:
    std::vector<const Attribute*> attributes_;
};

/// Every name, `all` too.
std::vector<std::string> attribute_names();

} // namespace flux::job_list
