// `{cc}` and its like in the command and options of a submission.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace flux::submission {

/// The value of a tag; nothing when there is no such tag.
using Tags = std::function<std::optional<std::string>(std::string_view tag)>;

/// Replace `{TAG}`s. `{{…}}` is left to the job shell. \throws Error EINVAL for a tag that there is not.
std::string substitute(std::string_view text, const Tags& tags);

} // namespace flux::submission
