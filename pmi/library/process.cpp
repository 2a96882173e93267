#include <flux/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pmi/library/process.hpp>

const int flux_pmi_library = 1;

namespace flux::pmi::library {

namespace {

std::unique_ptr<Client> current;

} // namespace

Client* client() noexcept { return current.get(); }

void start() {
    if (current) return;
    auto started = std::make_unique<Client>(Client::from_environment());
    if (started->singleton()) throw Error(ENOENT, "PMI: PMI_FD is not set");
    started->init();
    current = std::move(started);
}

void finish() {
    if (current) current->finalize();
    current.reset();
}

int spawned() noexcept {
    const char* text = std::getenv("PMI_SPAWNED");
    return text && std::strcmp(text, "0") != 0;
}

void abort(const char* function, int exit_code, const char* text) {
    const char* said = text ? text : "";
    const int told = guarded([&](Client& client) {
        client.abort(exit_code, said);
        return success;
    });
    if (told != success)
        std::fprintf(stderr, "%s: (%d) %s\n", function, current ? static_cast<int>(current->rank()) : -1, said);
    std::exit(exit_code);
}

int put(Client& client, const char* key, const char* value) {
    if (!key || !value) return invalid_argument;
    const std::string_view name(key), text(value);
    if (name.empty() || name.find_first_of(" \n") != name.npos) return invalid_key;
    if (name.size() >= client.limits().key) return invalid_key_length;
    if (text.size() >= client.limits().value) return invalid_value_length;
    if (text.find('\n') != text.npos) return invalid_value;
    client.put(name, text);
    return success;
}

int copy(std::string_view text, char* buffer, int length) noexcept {
    if (!buffer) return invalid_argument;
    if (length <= 0 || text.size() >= static_cast<std::size_t>(length)) return invalid_length;
    *std::copy(text.begin(), text.end(), buffer) = '\0';
    return success;
}

} // namespace flux::pmi::library
