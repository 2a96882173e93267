// files — puts the files of the jobspec (`attributes.system.files`, RFC 37) into the job's temporary directory.
#include "extract.hpp"

#include <flux/content_protocol.hpp>
#include <flux/shell.hpp>

namespace flux::shell {
namespace {

class Files final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        auto directory = shell().env("FLUX_JOB_TMPDIR").value_or(".");
        for (const auto& [path, file] : archived_files(shell().info().jobspec.files())) {
            std::map<Blobref, std::string> blobs;
            for (const auto& piece : pieces_of(file)) {
                auto digest = Payload::from_bytes(std::string(piece.blob.digest()));
                auto reply = co_await shell().handle().call(content_protocol::load.topic, digest);
                blobs[piece.blob] = reply.payload ? reply.payload.bytes() : std::string_view();
            }
            extract_file(directory, path, file, [&](const FilePiece& piece) { return blobs[piece.blob]; });
        }
    }
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Files, "files")
