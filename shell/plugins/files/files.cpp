// files — puts the files of the jobspec (`attributes.system.files`, RFC 37) into the job's temporary directory.
#include "libflux/file_archive/extract.hpp"

#include <flux/content_protocol.hpp>
#include <flux/shell.hpp>

namespace flux::shell {
namespace {

class Files final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        auto directory = shell().env("FLUX_JOB_TMPDIR").value_or(".");
        for (const auto& [path, file] : file_archive::archived_files(shell().info().jobspec.files())) {
            file_archive::ExtractedFile out(directory, path, file);
            for (const auto& piece : file_archive::pieces_of(file)) {
                auto digest = Payload::from_bytes(std::string(piece.blob.digest()));
                auto reply = co_await shell().handle().call(content_protocol::load.topic, digest);
                out.write(piece, reply.payload ? reply.payload.bytes() : std::string_view());
            }
            out.finish();
        }
    }
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Files, "files")
