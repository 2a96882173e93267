// Counts of a jobspec's resources (RFC 14): a number, a set of numbers, or a range that grows by steps (RFC 45).
#pragma once

#include <flux/idset.hpp>
#include <flux/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flux {

/// The acceptable numbers of one resource; all are 1 or more.
class ResourceCount {
public:
    /// `max()` of a range that has none.
    static constexpr std::uint32_t unbounded = UINT32_MAX;

    ResourceCount() = default;
    explicit ResourceCount(std::uint32_t exactly) : min_(exactly), max_(exactly) {}

    /// Integer, string or object form. \throws Error EINVAL `RFC 14 count: …`
    static ResourceCount decode(JsonView value);
    /// `4`, `2,4,8`, `2-8:2:*`, `1+`. \throws Error EINVAL
    static ResourceCount parse(std::string_view text);

    /// The shortest string that means the same.
    std::string encode() const;

    std::uint32_t min() const noexcept { return min_; }
    std::uint32_t max() const noexcept { return max_; }
    bool is_number() const noexcept { return min_ == max_; }
    bool is_bounded() const noexcept { return max_ != unbounded; }
    /// Whether every number from min() to max() is acceptable.
    bool is_contiguous() const noexcept;
    bool test(std::uint32_t number) const noexcept;

    bool operator==(const ResourceCount&) const = default;

private:
    static ResourceCount range(std::uint64_t min, std::uint64_t max, std::uint64_t operand, std::string_view op);
    static std::optional<ResourceCount> try_range(std::string_view text);

    std::uint32_t min_ = 1;
    std::uint32_t max_ = 1;
    std::uint32_t operand_ = 1;
    char operator_ = '+';
    Idset set_; // empty unless this is a set of numbers
};

} // namespace flux
