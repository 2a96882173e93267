// Owners of OpenSSL's objects, and its errors in words.
#pragma once

#include <flux/error.hpp>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <memory>
#include <string>

namespace flux::broker::openssl {

template <auto release> struct Free {
    template <class T> void operator()(T* object) const noexcept { release(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Session = std::unique_ptr<SSL, Free<SSL_free>>;

/// What OpenSSL says of its last failure.
inline std::string reason() {
    const char* text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "unknown failure";
}

inline void check(bool succeeded, const char* what) {
    if (!succeeded) throw Error(EIO, std::string("openssl: ") + what + ": " + reason());
}

} // namespace flux::broker::openssl
