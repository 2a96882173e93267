// Data of a standard stream as JSON (RFC 24): context of `data` events of a job's output and input, payload of the
// shell's stdin service, member `io` of remote execution (RFC 42).
#pragma once

#include <flux/json.hpp>

#include <string>
#include <string_view>

namespace flux {

struct IoData {
    std::string stream;
    std::string rank; ///< one id, an idset or `all`
    std::string data; ///< any bytes
    bool eof = false;

    /// `{stream, rank, data?, encoding?, eof?}`: text as it is, other bytes in base64. Empty data is left out at eof.
    static Json encode(std::string_view stream, std::string_view rank, std::string_view data, bool eof = false);
    Json encode() const { return encode(stream, rank, data, eof); }
    /// \throws Error EPROTO when it is malformed, or has neither data nor eof.
    static IoData decode(JsonView json);
};

} // namespace flux
