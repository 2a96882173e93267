#include <flux/error.hpp>

#include <cerrno>
#include <pmi/pmi.h>
#include <pmi/session/methods.hpp>
#include <pmi/session/shared_object.hpp>

namespace flux::pmi {
namespace {

/// What a library may announce as its longest text; more is not believed.
constexpr int announced_max = 1 << 20;

class LibpmiSession final : public Session {
public:
    LibpmiSession(const std::string& path, bool foreign_only) : library_(path, "libpmi.so", foreign_only) {
        decltype(PMI_Init)* init;
        decltype(PMI_Get_rank)* get_rank;
        decltype(PMI_Get_size)* get_size;
        decltype(PMI_KVS_Get_my_name)* get_name;
        decltype(PMI_KVS_Get_name_length_max)* name_length;
        decltype(PMI_KVS_Get_value_length_max)* value_length;
        library_.find("PMI_Init", init);
        library_.find("PMI_Get_rank", get_rank);
        library_.find("PMI_Get_size", get_size);
        library_.find("PMI_KVS_Get_my_name", get_name);
        library_.find("PMI_KVS_Get_name_length_max", name_length);
        library_.find("PMI_KVS_Get_value_length_max", value_length);
        library_.find("PMI_KVS_Put", put_);
        library_.find("PMI_KVS_Commit", commit_);
        library_.find("PMI_KVS_Get", get_);
        library_.find("PMI_Barrier", barrier_);
        library_.find("PMI_Abort", abort_);
        library_.find("PMI_Finalize", finalize_);

        int spawned = 0;
        check("PMI_Init", init(&spawned));
        rank = number("PMI_Get_rank", get_rank);
        size = number("PMI_Get_size", get_size);
        job.resize(number("PMI_KVS_Get_name_length_max", name_length));
        check("PMI_KVS_Get_my_name", get_name(job.data(), static_cast<int>(job.size())));
        job.resize(job.find('\0') == job.npos ? job.size() : job.find('\0'));
        value_max_ = number("PMI_KVS_Get_value_length_max", value_length);
    }
    void put(const std::string& key, const std::string& value) override {
        check("PMI_KVS_Put " + key, put_(job.c_str(), key.c_str(), value.c_str()));
        check("PMI_KVS_Commit", commit_(job.c_str()));
    }
    std::optional<std::string> find(const std::string& key) override {
        std::string value(value_max_, '\0');
        if (get_(job.c_str(), key.c_str(), value.data(), static_cast<int>(value.size())) != PMI_SUCCESS)
            return std::nullopt;
        return std::string(value.c_str());
    }
    void barrier() override { check("PMI_Barrier", barrier_()); }
    void abort(int exit_code, const std::string& text) override { abort_(exit_code, text.c_str()); }
    void finalize() override { check("PMI_Finalize", finalize_()); }

private:
    static unsigned number(const char* function, int (*get)(int*)) {
        int value = -1;
        check(function, get(&value));
        if (value < 0 || value > announced_max)
            throw Error(EPROTO, std::string(function) + ": " + std::to_string(value) + " is out of range");
        return static_cast<unsigned>(value);
    }

    SharedObject library_;
    decltype(PMI_KVS_Put)* put_ = nullptr;
    decltype(PMI_KVS_Commit)* commit_ = nullptr;
    decltype(PMI_KVS_Get)* get_ = nullptr;
    decltype(PMI_Barrier)* barrier_ = nullptr;
    decltype(PMI_Abort)* abort_ = nullptr;
    decltype(PMI_Finalize)* finalize_ = nullptr;
    std::size_t value_max_ = 0;
};

} // namespace

std::unique_ptr<Session> open_libpmi(const std::string& path, bool foreign_only) {
    return std::make_unique<LibpmiSession>(path, foreign_only);
}

} // namespace flux::pmi
