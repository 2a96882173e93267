// flux-keygen: make the key pair of an instance (cli.md 6.36).
#include "cmd/keygen/key_pair.hpp"
#include "cmd/options/parse.hpp"

#include <flux/error.hpp>
#include <flux/file_descriptor.hpp>
#include <flux/version.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace flux;

std::string host_name() {
    char name[HOST_NAME_MAX + 1] = "";
    ::gethostname(name, sizeof name - 1);
    return name;
}

std::string now() {
    auto seconds = std::time(nullptr);
    tm local{};
    ::localtime_r(&seconds, &local);
    char text[64];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
    return text;
}

std::string entry(std::string_view key, std::string_view value) { return fmt::format("    {} = \"{}\"\n", key, value); }

std::string certificate(const options::Parsed& parsed) {
    auto keys = keygen::KeyPair::generate();
    std::string text = "# Key pair of a Flux instance. Keep it secret: who has it can join the instance.\n\nmetadata\n";
    text += entry("name", parsed.get("name", host_name()));
    for (const auto& item : parsed.list("meta")) {
        auto equals = item.find('=');
        text += entry(item.substr(0, equals), equals == item.npos ? "" : item.substr(equals + 1));
    }
    text += entry("keygen.hostname", host_name());
    text += entry("keygen.time", now());
    text += entry("keygen.userid", std::to_string(::getuid()));
    text += entry("keygen.flux-core-version", version);
    text += "\ncurve\n";
    text += entry("public-key", keygen::z85_encode(keys.public_key));
    text += entry("secret-key", keygen::z85_encode(keys.secret_key));
    return text;
}

void save(const std::string& path, const std::string& text) {
    auto fail = [&] { throw Error(errno, path + ": " + errno_text(errno)); };
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file || ::fchmod(file.get(), 0600) < 0) fail();
    for (std::string_view rest = text; !rest.empty();) {
        auto size = ::write(file.get(), rest.data(), rest.size());
        if (size < 0) fail();
        rest.remove_prefix(static_cast<std::size_t>(size));
    }
}

using options::Value;
constexpr options::Option keygen_options[] = {
    {.name = "name",
     .key = 'n',
     .value = Value::required,
     .argument = "NAME",
     .help = "Set certificate name (default: hostname)"},
    {.name = "meta",
     .value = Value::required,
     .argument = "KEYVALS",
     .help = "Add/update comma-separated key=value metadata"},
};
constexpr options::Command command{.name = "keygen",
                                   .program = "flux-keygen",
                                   .synopsis = "[OPTIONS] [PATH]",
                                   .help = "Generate the keys of an instance",
                                   .options = keygen_options};

} // namespace

int main(int argc, char** argv) {
    std::vector<const char*> words(argv + 1, argv + argc);
    try {
        auto parsed = options::parse(command, words);
        if (parsed.operands().size() > 1) throw parsed.usage_error();
        try {
            auto text = certificate(parsed);
            if (parsed.operands().empty())
                fmt::print(stderr, "{}",
                           parsed.failure_line("WARNING: add PATH argument to save generated certificate"));
            else
                save(parsed.operands()[0], text);
        } catch (const Error& error) {
            fmt::print(stderr, "{}", parsed.failure_line(error.what()));
            return options::exit_code::failure;
        }
    } catch (const options::Exit& exit) {
        fmt::print(stdout, "{}", exit.out);
        fmt::print(stderr, "{}", exit.err);
        return exit.code;
    }
    return 0;
}
