// The content of the instance is made from an archive at its start and written to one at its end, when the attributes
// content.restore and content.dump say so (kvs-content.md 11). `auto`: the archives are in a folder of their own, where
// link RESTORE is the one that the next start takes, and only that start.
#include "broker/broker.hpp"

#include <flux/content_protocol.hpp>
#include <flux/paths.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

namespace fs = std::filesystem;

namespace flux::broker {
namespace {

constexpr const char* automatic = "auto";
constexpr const char* link_name = "RESTORE";

std::string file_name_of_now() {
    auto now = std::time(nullptr);
    tm local{};
    ::localtime_r(&now, &local);
    char text[32];
    std::strftime(text, sizeof text, "%Y%m%d_%H%M%S.tgz", &local);
    return text;
}

std::string program(const char* name) { return paths::libexecdir() + "/cmd/" + name; }

} // namespace

/// Before modules are loaded.
Task<> Broker::prepare_snapshots() {
    auto store = modprobe_->manifest.provider("content-backing");
    if (rank_ != 0 || store.empty()) co_return;
    auto& extras = modprobe_->extras[store];
    extras.before_removal = [this] { return dump_content(); };
    co_await find_restore();
    if (restore_file_.empty()) co_return;
    extras.args.push_back("truncate");
    extras.when_loaded = [this] { return restore_content(); };
}

std::string Broker::dump_directory() const {
    auto parent = attributes_.get_or("statedir-cleanup", "0") == "0" ? statedir_ : std::string(".");
    return parent + "/dump";
}

// What cannot be read is refused before it takes the place of anything.
Task<> Broker::find_restore() {
    auto file = attributes_.get_or("content.restore", "");
    if (file == automatic) {
        file = dump_directory() + "/" + link_name;
        if (!fs::is_symlink(file)) co_return;
        file = fs::path(dump_directory()) / fs::read_symlink(file);
    }
    if (file.empty()) co_return;
    std::vector<std::string> argv{program("flux-restore"), "--check", "--quiet", file};
    int code = co_await run_logged("rc1", std::move(argv), "check of " + file);
    if (code != 0)
        throw Error(EINVAL, fmt::format("content.restore: {} cannot be restored, nothing was changed", file));
    restore_file_ = file;
}

/// When the store is there and nobody uses it yet.
Task<> Broker::restore_content() {
    log(LogLevel::info, "rc1.0: restoring content from " + restore_file_);
    std::vector<std::string> argv{program("flux-restore"), "--sd-notify", "--quiet", "--checkpoint", restore_file_};
    int code = co_await run_logged("rc1", std::move(argv), "restore of " + restore_file_);
    if (code != 0) throw Error(ECANCELED, fmt::format("restore of {} exited with {}", restore_file_, code));
    if (attributes_.get_or("content.restore", "") != automatic) co_return;
    std::error_code failure;
    fs::remove(dump_directory() + "/" + link_name, failure);
    if (failure) throw Error(failure.value(), fmt::format("{}/{}: {}", dump_directory(), link_name, failure.message()));
}

/// When the KVS has written its last checkpoint. Nothing is dumped that was not whole at the start, or that goes on
/// without this broker.
Task<> Broker::dump_content() {
    auto file = attributes_.get_or("content.dump", "");
    if (!started_ || restarting_) co_return;
    try {
        co_await handle_->call(content_protocol::flush.topic);
        if (!file.empty()) co_await write_dump(file);
    } catch (const Cancelled&) {
        throw;
    } catch (const std::exception& error) {
        log(LogLevel::err, fmt::format("rc3: {}", error.what()));
        set_exit_code(1);
    }
}

Task<> Broker::write_dump(std::string file) {
    auto directory = dump_directory();
    bool linked = file == automatic;
    auto base = file_name_of_now();
    if (linked) {
        fs::create_directories(directory);
        file = directory + "/" + base;
    }
    log(LogLevel::info, "rc3.0: dumping content to " + file);
    std::vector<std::string> argv{program("flux-dump"), "--sd-notify",   "--quiet",      "--ignore-failed-read",
                                  "--no-cache",         "--maxreqs=128", "--checkpoint", file};
    int code = co_await run_logged("rc3", std::move(argv), "dump to " + file);
    if (code != 0) throw Error(ECANCELED, fmt::format("dump to {} exited with {}", file, code));
    if (!linked) co_return;
    auto link = directory + "/" + link_name, next = link + ".new";
    fs::remove(next);
    fs::create_symlink(base, next);
    fs::rename(next, link);
}

} // namespace flux::broker
