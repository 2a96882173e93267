// What libpmi and libpmi2 share: the one PMI client of the process they are loaded into, and the bridge from exceptions
// to result codes.
#pragma once

#include <pmi/client.hpp>
#include <string_view>

/// By this symbol a broker that looks for a foreign PMI library recognizes its own.
extern "C" const int flux_pmi_library;

namespace flux::pmi::library {

/// Codes of the C interfaces beyond those of the wire.
enum : int { not_initialized = 1, invalid_argument = 3, invalid_value = 6 };

/// Null before `start` and after `finish`.
Client* client() noexcept;
/// Connect to the server of the environment. \throws Error
void start();
void finish();
/// PMI_SPAWNED of the environment.
int spawned() noexcept;
[[noreturn]] void abort(const char* function, int exit_code, const char* text);

int put(Client& client, const char* key, const char* value);
/// Copy text and its NUL into a buffer of the caller.
int copy(std::string_view text, char* buffer, int length) noexcept;

/// Run a function that takes the client and returns a code.
template <class Function> int guarded(Function function) noexcept {
    if (!client()) return not_initialized;
    try {
        return function(*client());
    } catch (...) { // a C caller only knows the code
        return fail;
    }
}

/// Give a number of the client to a C caller.
template <class Function> int guarded_number(int* out, Function function) noexcept {
    if (!out) return invalid_argument;
    return guarded([&](Client& client) {
        *out = static_cast<int>(function(client));
        return success;
    });
}

} // namespace flux::pmi::library
