#include "cmd/submission/inputs.hpp"

#include <flux/error.hpp>
#include <flux/parse_integer.hpp>

#include <cerrno>

namespace flux::submission {
namespace {

constexpr std::string_view list_mark = ":::", file_mark = "::::", link_suffix = "+";

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view folder(std::string_view path) {
    auto slash = path.rfind('/');
    return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

std::string_view without_extension(std::string_view path) {
    auto name = base_name(path);
    auto dot = name.rfind('.');
    if (dot == name.npos || dot == 0) return path;
    return path.substr(0, path.size() - (name.size() - dot));
}

} // namespace

Inputs::Inputs(const std::vector<std::string>& words, const Read& read) {
    auto* items = &command_;
    bool from_file = false;
    for (const auto& word : words) {
        std::string_view mark = word;
        const bool linked = mark.ends_with(link_suffix);
        if (linked) mark.remove_suffix(link_suffix.size());
        if (mark == list_mark || mark == file_mark) {
            if (linked && lists_.empty()) throw Error(EINVAL, word + ": there is no list before it");
            lists_.push_back({{}, linked});
            items = &lists_.back().items;
            from_file = mark == file_mark;
        } else if (from_file) {
            for (auto& item : read(word)) items->push_back(std::move(item));
        } else {
            items->push_back(word);
        }
    }
    if (command_.empty()) command_.emplace_back("{}");
    if (lists_.empty()) lists_.push_back({read("-"), false});
    for (const auto& list : lists_) {
        if (list.items.empty()) throw Error(EINVAL, "no inputs specified");
        if (!list.linked) size_ *= list.items.size();
    }
}

std::vector<std::string> Inputs::combination(std::size_t index) const {
    std::vector<std::size_t> positions(lists_.size());
    for (std::size_t list = lists_.size(); list-- > 0;) {
        if (lists_[list].linked) continue;
        positions[list] = index % lists_[list].items.size();
        index /= lists_[list].items.size();
    }
    std::vector<std::string> inputs;
    for (std::size_t list = 0; list < lists_.size(); ++list) {
        if (lists_[list].linked) positions[list] = positions[list - 1];
        inputs.push_back(lists_[list].items[positions[list] % lists_[list].items.size()]);
    }
    return inputs;
}

Tags input_tags(std::vector<std::string> inputs, std::size_t sequence) {
    return [inputs = std::move(inputs), sequence](std::string_view tag) -> std::optional<std::string> {
        if (tag == "seq") return std::to_string(sequence);
        if (tag == "seq1") return std::to_string(sequence + 1);
        auto dot = tag.find('.');
        auto name = tag.substr(0, dot);
        auto number = name.empty() ? std::optional<std::size_t>(0) : parse_integer<std::size_t>(name);
        if (!number || *number >= inputs.size()) return std::nullopt;
        std::string_view input = inputs[*number];
        if (dot == tag.npos) return std::string(input);
        auto part = tag.substr(dot + 1);
        if (part == "%") return std::string(without_extension(input));
        if (part == "/") return std::string(base_name(input));
        if (part == "//") return std::string(folder(input));
        if (part == "/%") return std::string(base_name(without_extension(input)));
        return std::nullopt;
    };
}

} // namespace flux::submission
