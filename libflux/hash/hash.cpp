#include <flux/hash.hpp>

#include <openssl/evp.h>

#include <cerrno>
#include <string>

namespace flux {

struct Hasher::State {
    EVP_MD* algorithm;
    EVP_MD_CTX* context = EVP_MD_CTX_new();

    // A fetched algorithm is found once; the implicit ones are looked up under a lock by every EVP_DigestInit.
    explicit State(HashKind kind) : algorithm(EVP_MD_fetch(nullptr, std::string(name_of(kind)).c_str(), nullptr)) {}
    State(const State&) = delete;
    ~State() {
        EVP_MD_CTX_free(context);
        EVP_MD_free(algorithm);
    }
};

Hasher::Hasher(HashKind kind) : state_(std::make_unique<State>(kind)), kind_(kind) {
    if (!state_->algorithm || !state_->context)
        throw Error(EIO, std::string("OpenSSL does not offer ").append(name_of(kind)));
}

Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

Blobref Hasher::operator()(std::string_view bytes) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (EVP_DigestInit_ex2(state_->context, state_->algorithm, nullptr) != 1 ||
        EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1 ||
        EVP_DigestFinal_ex(state_->context, digest, &size) != 1)
        throw Error(EIO, std::string(name_of(kind_)) + ": OpenSSL failed");
    return Blobref(kind_, {reinterpret_cast<const char*>(digest), size});
}

} // namespace flux
