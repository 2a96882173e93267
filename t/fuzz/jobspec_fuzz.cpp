#include "fuzz.hpp"

#include <flux/jobspec.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto json = flux::Json::parse(fuzz::text(data, size));
        flux::JobspecView jobspec(json);
        jobspec.job_name();
        flux::validate_jobspec(json);
        jobspec.shape();
    } catch (const flux::Error&) {}
    return 0;
}
