// The one error type of the SDK, and the exception that means "stop".
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace flux {

/// A failure: an errno value for programs and the wire, a sentence for people.
/// The text says what, which, why: `kvs: key 'a..b': empty path component`.
class Error : public std::runtime_error {
public:
    /// \param errnum  a Linux errno value, never 0.
    /// \param text    may be empty: `what()` is then the system's text for `errnum`.
    explicit Error(int errnum, const std::string& text = {});
    ~Error() override;

    int errnum() const noexcept { return errnum_; }
    /// The text given by whoever raised the error; empty when there was none.
    const std::string& text() const noexcept { return text_; }

    /// The same error with `what` put before its text: `what: text`.
    Error while_doing(const std::string& what) const;

private:
    int errnum_;
    std::string text_;
};

/// Thrown out of a wait whose scope was aborted. Only `spawn` swallows it.
class Cancelled final : public Error {
public:
    Cancelled();
    ~Cancelled() override;
};

/// Text of an errno value, as `strerror` words it, without its thread traps.
std::string errno_text(int errnum);

} // namespace flux
