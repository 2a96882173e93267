// The certificate file of a configured instance, as ZeroMQ writes it and `flux keygen`: a text with the section
// `curve`, whose keys are in Z85. No key material is derived here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace flux::broker {

class CurveCert {
public:
    static constexpr std::size_t size_limit = 64 * 1024; ///< of the text
    using Key = std::array<std::uint8_t, 32>;

    /// \throws Error EINVAL with the line that is wrong, or the key that is missing
    static CurveCert parse(std::string_view text);
    /// \throws Error EPERM when others than the owner may read or write the file; Error naming the file otherwise
    static CurveCert load(const std::string& path);

    Key public_key{};
    Key secret_key{};
};

} // namespace flux::broker
