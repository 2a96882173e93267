// What the options of submission commands ask for: a jobspec and how to submit it.
#pragma once

#include "cmd/options/parse.hpp"
#include "cmd/submission/environment_rules.hpp"
#include "cmd/submission/limit_rules.hpp"

#include <flux/idset.hpp>
#include <flux/jobspec_builder.hpp>

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

/// Do what the options say that all submission commands share.
/// \param cc  value of FLUX_JOB_CC, if it is to be set.
/// \throws Error EINVAL naming the option that is wrong.
void apply_options(JobspecBuilder& jobspec, const options::Parsed& parsed, const Surroundings& surroundings,
                   std::optional<std::string_view> cc = std::nullopt);
/// Value of an option that counts something, 0 when it is not given. \throws Error EINVAL
std::int64_t count(const options::Parsed& parsed, std::string_view option);

/// The jobspec of `submit`, `run` and `bulksubmit`.
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
