// Signed requests (RFC 39 with an RFC 38 header): how a job's user vouches for a jobspec. Mechanism `none` only, by
// which the owner of an instance signs for himself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flux {

struct SignedRequest {
    std::uint32_t userid; ///< who signed
    std::string payload;

    /// `base64(header).base64(payload).none`
    static std::string sign(std::string_view payload, std::uint32_t userid);
    /// \throws Error EINVAL for what is malformed, of another version, signed by another mechanism or wrongly.
    static SignedRequest unwrap(std::string_view text);
};

} // namespace flux
