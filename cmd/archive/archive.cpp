// flux-archive: share files by way of the KVS (kvs-content.md 9.6).
#include "cmd/archive/commands.hpp"
#include "cmd/archive/scan.hpp"
#include "cmd/archive/subcommands.hpp"
#include "cmd/run_command.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <clocale>
#include <fnmatch.h>
#include <unistd.h>

namespace flux::archive {

Names::Names(const options::Parsed& parsed)
    : name(parsed.get("name", "main")),
      key("archive." + name),
      name_space(parsed.has("no-force-primary") ? kvs::default_namespace() : "primary") {}

Selection::Selection(const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    if (!parsed.operands().empty()) pattern_ = parsed.operands()[0];
}

bool Selection::takes(const std::string& path) {
    bool takes = pattern_.empty() || ::fnmatch(pattern_.c_str(), path.c_str(), 0) == 0;
    any_ = any_ || takes;
    return takes;
}

void Selection::finish(const options::Parsed& parsed) const {
    if (!any_ && !pattern_.empty())
        fmt::print(stderr, "{}", parsed.failure_line(fmt::format("No files matched pattern '{}'", pattern_)));
}

void change_directory(const options::Parsed& parsed) {
    auto directory = parsed.find("directory");
    if (!directory) return;
    std::string path(*directory);
    if (::chdir(path.c_str()) < 0) throw Error(errno, path + ": " + errno_text(errno));
}

Task<> forget_mapped(Handle* handle, std::string tag) {
    auto payload = Json::object("tag", tag);
    co_await handle->call(content_protocol::mmap_remove.topic, std::move(payload), CallOptions().rank(0));
}

} // namespace flux::archive

int main(int argc, char** argv) {
    using namespace flux::archive;
    std::setlocale(LC_CTYPE, "");
    return flux::cmd::run_command(command<&run_create, &run_list, &run_extract, &run_remove>(),
                                  {argv + 1, argv + argc});
}
