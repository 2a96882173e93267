// The inputs of `bulksubmit` and the tags by which commands and options name them.
#pragma once

#include "cmd/submission/substitute.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace flux::submission {

class Inputs {
public:
    /// Gives the items of a file of inputs; `-` is standard input.
    using Read = std::function<std::vector<std::string>(const std::string& name)>;

    /// \param words  `COMMAND... [::: INPUT...]...`; `::::` names a file, `:::+` and `::::+` link a list to the one
    ///               before. Without any list the items of standard input are taken.
    /// \throws Error EINVAL when there is no input at all, or a link without a list before it.
    Inputs(const std::vector<std::string>& words, const Read& read);

    /// The command, `{}` when none was given.
    const std::vector<std::string>& command() const noexcept { return command_; }
    /// Number of combinations.
    std::size_t size() const noexcept { return size_; }
    /// One input of each list; the last list varies fastest.
    std::vector<std::string> combination(std::size_t index) const;

private:
    struct List {
        std::vector<std::string> items;
        bool linked;
    };
    std::vector<std::string> command_;
    std::vector<List> lists_;
    std::size_t size_ = 1;
};

/// Tags of one job: `{N}`, `{N.%}`, `{N./}`, `{N.//}`, `{N./%}`, where N may be left out, `{seq}`, `{seq1}`.
Tags input_tags(std::vector<std::string> inputs, std::size_t sequence);

} // namespace flux::submission
