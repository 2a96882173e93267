// Job ids (FLUIDs, RFC 19): 64 bits of time, generator and sequence, and the many ways to write them.
#pragma once

#include <flux/json.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace flux {

/// A job id. In JSON it is a plain integer: `get<JobId>("id")` reads it and `Json::object("id", id)` writes it.
class JobId {
public:
    static constexpr const char* json_name = "job id";

    JobId() = default;
    explicit constexpr JobId(std::uint64_t value) noexcept : value_(value) {}
    /// The id that stands for every job (JSON -1).
    static constexpr JobId any() noexcept { return JobId(UINT64_MAX); }

    /// Read an id in any of the forms below; white space and `job.` may stand before it.
    /// \throws Error EINVAL
    static JobId parse(std::string_view text);
    /// As parse(), for texts that may well be something else.
    static std::optional<JobId> try_parse(std::string_view text);

    constexpr std::uint64_t value() const noexcept { return value_; }
    /// Milliseconds since the instance's epoch.
    constexpr std::uint64_t timestamp() const noexcept { return value_ >> 24; }
    constexpr unsigned generator() const noexcept { return (value_ >> 10) & 0x3fff; }
    constexpr unsigned sequence() const noexcept { return value_ & 0x3ff; }

    std::string dec() const;
    /// `0x3ff`
    std::string hex() const;
    /// `0000.0000.0000.03ff`
    std::string dothex() const;
    /// `job.0000.0000.0000.03ff`: the KVS directory of the job.
    std::string kvs() const;
    /// `ƒJe`, the form shown to people; `fJe` where the locale (`LC_CTYPE`, which the program has to set) is not UTF-8
    /// or FLUX_F58_FORCE_ASCII is in the environment.
    std::string f58() const;
    /// `fJe`: the form in names of services, units and files.
    std::string f58plain() const;
    /// `serpent-academy-academy--academy-academy-academy`
    std::string words() const;
    /// `😄📚`
    std::string emoji() const;
    /// The form with this name in any case: dec hex dothex kvs f58 f58plain words emoji.
    /// \throws Error EPROTO when there is no such form.
    std::string encode(std::string_view form) const;

    auto operator<=>(const JobId&) const = default;
    operator Json() const { return Json(value_); }

private:
    std::uint64_t value_ = 0;
};

/// For `JsonView::get<JobId>`: any integer.
bool json_decode(JsonView value, JobId& out) noexcept;

} // namespace flux

template <> struct std::hash<flux::JobId> {
    std::size_t operator()(flux::JobId id) const noexcept { return std::hash<std::uint64_t>()(id.value()); }
};
