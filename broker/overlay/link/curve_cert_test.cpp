#include "broker/overlay/link/curve_cert.hpp"
#include "broker/overlay/link/link_keys.hpp"

#include <flux/error.hpp>
#include <flux/file_descriptor.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace flux;
using namespace flux::broker;
using Catch::Contains;

namespace {

// The key pair of ZeroMQ's documentation.
constexpr std::string_view public_key = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
constexpr std::string_view secret_key = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";

std::string cert(std::string_view public_key, std::string_view secret_key) {
    return "# comment\n\nmetadata\n    name = \"test # 1\"\n    public-key = \"not this\"\n\ncurve\n    public-key = "
           "\"" +
           std::string(public_key) + "\"\n    secret-key = \"" + std::string(secret_key) + "\"\n";
}

std::string refusal(std::string_view text) {
    try {
        CurveCert::parse(text);
    } catch (const Error& error) {
        CHECK(error.errnum() == EINVAL);
        return error.what();
    }
    return "accepted";
}

class TemporaryFile {
public:
    TemporaryFile(std::string_view text, mode_t mode) {
        FileDescriptor file(::mkstemp(path.data()));
        REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
        REQUIRE(::fchmod(file.get(), mode) == 0);
    }
    ~TemporaryFile() { ::unlink(path.c_str()); }
    std::string path = std::filesystem::temp_directory_path() / "flux-cert-XXXXXX";
};

} // namespace

TEST_CASE("certificate: keys of section curve", "[link]") {
    auto pair = CurveCert::parse(cert(public_key, secret_key));
    CHECK(pair.public_key[0] == 0xBB); // BB88471D65E2659B..
    CHECK(pair.public_key[1] == 0x88);
    CHECK(pair.public_key[31] == 0x18);
    CHECK(pair.secret_key[0] == 0x7B);
    CHECK(pair.secret_key[31] == 0x88);
    // Unquoted values, comments and other line ends are as good.
    auto bare = CurveCert::parse("curve\r\n\tpublic-key=" + std::string(public_key) + "\r\n\tsecret-key = '" +
                                 std::string(secret_key) + "' # keep it\r\n");
    CHECK(bare.public_key == pair.public_key);
    CHECK(bare.secret_key == pair.secret_key);
}

TEST_CASE("certificate: what is malformed says where", "[link]") {
    CHECK(refusal("") == "public-key is missing from section curve");
    CHECK(refusal("metadata\n    public-key = \"x\"\n") == "public-key is missing from section curve");
    CHECK(refusal("curve\n    public-key = \"" + std::string(public_key) + "\"\n") ==
          "secret-key is missing from section curve");
    CHECK(refusal(cert("short", secret_key)) == "line 8: public-key is no key of 40 Z85 characters");
    CHECK(refusal(cert(public_key, std::string(40, '~'))) == "line 9: secret-key is no key of 40 Z85 characters");
    CHECK(refusal(cert(std::string(40, '#'), secret_key)) == "line 8: public-key is no key of 40 Z85 characters");
    CHECK_THAT(refusal("curve\n    secret-key = \"abc\n"), Contains("line 2: secret-key: the quotes do not match"));
    CHECK_THAT(refusal(cert(public_key, secret_key) + "    secret-key = \"" + std::string(secret_key) + "\"\n"),
               Contains("line 10: secret-key for the second time"));
    CHECK_THAT(refusal(std::string("curve\n    a\0b", 13)), Contains("line 2: NUL"));
    CHECK_THAT(refusal(std::string(CurveCert::size_limit + 1, '\n')), Contains("larger than"));
}

TEST_CASE("certificate: files", "[link]") {
    TemporaryFile good(cert(public_key, secret_key), 0600);
    CHECK(CurveCert::load(good.path).public_key[0] == 0xBB);
    for (mode_t mode : {0640, 0604, 0620}) {
        TemporaryFile open(cert(public_key, secret_key), mode);
        CHECK_THROWS_WITH(CurveCert::load(open.path), Contains(open.path) && Contains("only its owner may"));
    }
    TemporaryFile bad("curve\n", 0600);
    CHECK_THROWS_WITH(CurveCert::load(bad.path),
                      "certificate " + bad.path + ": public-key is missing from section curve");
    CHECK_THROWS_WITH(CurveCert::load("/no/such/cert"), "certificate /no/such/cert: No such file or directory");
    CHECK_THROWS_WITH(CurveCert::load("/"), "certificate /: not a regular file");
}

TEST_CASE("link keys: a certificate has one key for all brokers", "[link]") {
    auto pair = CurveCert::parse(cert(public_key, secret_key));
    LinkKeys one(pair), other(pair);
    CHECK(one.public_key() == other.public_key());
    CHECK(one.trusts(other.public_key()));
    CHECK(one.public_key().bytes() != pair.public_key); // Ed25519, not Curve25519
    auto generated = LinkKeys::generate();
    CHECK_FALSE(one.trusts(generated.public_key()));
    CHECK_FALSE(generated.trusts(generated.public_key()));
    pair.public_key[0] ^= 1;
    CHECK_THROWS_WITH(LinkKeys(pair), Contains("do not belong together"));
}

TEST_CASE("public keys as text", "[link]") {
    auto key = LinkKeys::generate().public_key();
    auto text = key.to_string();
    CHECK(text.size() == 64);
    CHECK(PublicKey::parse(text) == key);
    CHECK(text.starts_with(key.fingerprint()));
    for (auto bad : {std::string(), text.substr(1), text + "0", std::string(64, 'g'), std::string(64, '-')})
        CHECK_THROWS_WITH(PublicKey::parse(bad), "a public key has 64 hexadecimal digits");
}
