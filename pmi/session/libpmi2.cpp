#include <flux/error.hpp>

#include <cerrno>
#include <cstring>
#include <pmi/pmi2.h>
#include <pmi/session/methods.hpp>
#include <pmi/session/shared_object.hpp>

namespace flux::pmi {
namespace {

/// Longest name of a job, with its NUL.
constexpr std::size_t job_max = 256;

class Libpmi2Session final : public Session {
public:
    Libpmi2Session(const std::string& path, bool foreign_only) : library_(path, "libpmi2.so", foreign_only) {
        decltype(PMI2_Init)* init;
        decltype(PMI2_Job_GetId)* get_id;
        library_.find("PMI2_Init", init);
        library_.find("PMI2_Job_GetId", get_id);
        library_.find("PMI2_KVS_Put", put_);
        library_.find("PMI2_KVS_Get", get_);
        library_.find("PMI2_KVS_Fence", fence_);
        library_.find("PMI2_Info_GetJobAttr", get_attribute_);
        library_.find("PMI2_Abort", abort_);
        library_.find("PMI2_Finalize", finalize_);

        int spawned = 0, size_found = -1, rank_found = -1, appnum = 0;
        check("PMI2_Init", init(&spawned, &size_found, &rank_found, &appnum));
        if (rank_found < 0 || rank_found >= size_found)
            throw Error(EPROTO, "PMI2_Init: rank " + std::to_string(rank_found) + " of " + std::to_string(size_found));
        rank = static_cast<unsigned>(rank_found);
        size = static_cast<unsigned>(size_found);
        char id[job_max] = {};
        check("PMI2_Job_GetId", get_id(id, sizeof id));
        job.assign(id, ::strnlen(id, sizeof id));
    }
    void put(const std::string& key, const std::string& value) override {
        check("PMI2_KVS_Put " + key, put_(key.c_str(), value.c_str()));
    }
    std::optional<std::string> find(const std::string& key) override {
        std::string value(PMI2_MAX_VALLEN, '\0');
        // What the launcher itself tells are attributes of the job.
        if (key == "PMI_process_mapping") {
            int found = 0;
            if (get_attribute_(key.c_str(), value.data(), static_cast<int>(value.size()), &found) != PMI2_SUCCESS ||
                !found)
                return std::nullopt;
            return std::string(value.c_str());
        }
        int length = 0;
        if (get_(job.c_str(), PMI2_ID_NULL, key.c_str(), value.data(), static_cast<int>(value.size()), &length) !=
            PMI2_SUCCESS)
            return std::nullopt;
        return std::string(value.c_str());
    }
    void barrier() override { check("PMI2_KVS_Fence", fence_()); }
    void abort(int, const std::string& text) override { abort_(1, text.c_str()); }
    void finalize() override { check("PMI2_Finalize", finalize_()); }

private:
    SharedObject library_;
    decltype(PMI2_KVS_Put)* put_ = nullptr;
    decltype(PMI2_KVS_Get)* get_ = nullptr;
    decltype(PMI2_KVS_Fence)* fence_ = nullptr;
    decltype(PMI2_Info_GetJobAttr)* get_attribute_ = nullptr;
    decltype(PMI2_Abort)* abort_ = nullptr;
    decltype(PMI2_Finalize)* finalize_ = nullptr;
};

} // namespace

std::unique_ptr<Session> open_libpmi2(const std::string& path, bool foreign_only) {
    return std::make_unique<Libpmi2Session>(path, foreign_only);
}

} // namespace flux::pmi
