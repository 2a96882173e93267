#include "access.hpp"

#include "documents.hpp"
#include "main_log.hpp"

#include <cerrno>

namespace flux::job_info {
namespace {

constexpr std::size_t max_owners = 4096;

} // namespace

Task<> Access::check(Credentials credentials, JobId id) {
    auto known = owners_.find(id);
    if (known == owners_.end()) {
        auto options = kvs::LookupOptions().name_space(kvs_protocol::primary_namespace);
        std::optional<std::uint32_t> owner;
        try {
            auto value = co_await kvs::lookup(handle_, job_key(id, "eventlog"), options);
            owner = owner_of(value.bytes());
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.errnum() != ENOENT) throw;
        }
        if (!owner) throw Error(ENOENT, "invalid job id");
        check_owner(credentials, id, *owner);
        co_return;
    }
    check_owner(credentials, id, known->second);
}

void Access::check_owner(Credentials credentials, JobId id, std::uint32_t owner) {
    if (owners_.size() >= max_owners) owners_.clear();
    owners_[id] = owner;
    if (!credentials.may_act_for(owner)) throw Error(EPERM, "the job belongs to another user");
}

} // namespace flux::job_info
