// What the options of `submit`, `run` and `bulksubmit` ask for: a jobspec and how to submit it.
#pragma once

#include "cmd/options/parse.hpp"
#include "cmd/submission/environment_rules.hpp"
#include "cmd/submission/limit_rules.hpp"

#include <flux/idset.hpp>
#include <flux/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::submission {

/// What a job takes over from the process that submits it; looked at once for any number of jobs.
class Surroundings {
public:
    Surroundings();
    Environment environment;
    LimitRules limits;
    std::string cwd;
};

/// \param cc  value of FLUX_JOB_CC, if it is to be set.
/// \throws Error EINVAL naming the option that is wrong.
Json make_jobspec(const options::Parsed& parsed, const Surroundings& surroundings,
                  std::optional<std::string_view> cc = std::nullopt);

/// Number of `--urgency`. \throws Exit
int urgency(const options::Parsed& parsed);
/// Bits of JobFlag of `--flags`. \throws Error EINVAL
int submit_flags(const options::Parsed& parsed);
/// `--input` when it names ranks instead of a file.
std::optional<Idset> input_ranks(const options::Parsed& parsed);

} // namespace flux::submission
