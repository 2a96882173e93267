// The subcommands of `flux archive`, and what they share.
#pragma once

#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/content_protocol.hpp>
#include <flux/kvs.hpp>

#include <string>

namespace flux::archive {

int run_create(cmd::Context& context, const options::Parsed& parsed);
int run_list(cmd::Context& context, const options::Parsed& parsed);
int run_extract(cmd::Context& context, const options::Parsed& parsed);
int run_remove(cmd::Context& context, const options::Parsed& parsed);

/// What an archive is called.
class Names {
public:
    explicit Names(const options::Parsed& parsed);
    /// Directory of the blobs that a dump shall keep.
    std::string blobs_key() const { return key + "_blobs"; }

    std::string name;
    std::string key; ///< in the KVS
    std::string name_space;
};

/// Which files a PATTERN takes.
class Selection {
public:
    explicit Selection(const options::Parsed& parsed);
    bool takes(const std::string& path);
    /// Say so when it took none.
    void finish(const options::Parsed& parsed) const;

private:
    std::string pattern_;
    bool any_ = false;
};

/// To --directory, when it is given. \throws Error
void change_directory(const options::Parsed& parsed);

/// Files that rank 0 offers from where they are.
Task<> forget_mapped(Handle* handle, std::string tag);

} // namespace flux::archive
