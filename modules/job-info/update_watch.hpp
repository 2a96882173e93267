// job-info.update-watch: R or jobspec of a job, now and after each update.
#pragma once

#include "main_log.hpp"
#include "watch.hpp"

#include <optional>
#include <string>
#include <vector>

namespace flux::job_info {

/// \throws Error EINVAL for another key than R or jobspec, EPROTO for flags
std::string update_key(JsonView payload);

class UpdateWatch final : public Watch {
public:
    /// \param cursor  of an earlier instance, or nothing. \throws Error EPROTO, EINVAL
    UpdateWatch(Context& context, Request request, JsonView cursor);

    Json cursor() const override { return Json::object("version", sent_); }

private:
    Task<> run() override;
    Task<> load();
    void send();

    std::string key_;
    Json document_;   // once it is there
    int version_ = 0; // 1 when it came to be, one more with each update
    int sent_ = 0;    // the version that the client has
};

} // namespace flux::job_info
