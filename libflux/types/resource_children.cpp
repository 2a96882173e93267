#include <flux/resource_set.hpp>

#include <algorithm>

namespace flux {

bool Children::Order::operator()(std::string_view a, std::string_view b) const noexcept {
    bool a_core = a == "core", b_core = b == "core";
    return a_core != b_core ? a_core : a < b;
}

Children::Children(Map types) : types_(std::move(types)) {
    std::erase_if(types_, [](const auto& type) { return type.second.empty(); });
}

const Idset& Children::operator[](std::string_view type) const noexcept {
    static const Idset none;
    auto found = types_.find(type);
    return found == types_.end() ? none : found->second;
}

void Children::set(std::string_view type, Idset ids) {
    if (auto found = types_.find(type); found != types_.end()) types_.erase(found);
    if (!ids.empty()) types_.emplace(type, std::move(ids));
}

Children Children::united(const Children& other) const {
    Map result = types_;
    for (const auto& [type, ids] : other.types_) result[type] |= ids;
    return Children(std::move(result));
}

Children Children::without(const Children& other) const {
    Map result;
    for (const auto& [type, ids] : types_) result[type] = ids - other[type];
    return Children(std::move(result));
}

Children Children::common(const Children& other) const {
    Map result;
    for (const auto& [type, ids] : types_) result[type] = ids & other[type];
    return Children(std::move(result));
}

bool Children::intersects(const Children& other) const noexcept {
    return std::any_of(types_.begin(), types_.end(),
                       [&](const auto& type) { return type.second.intersects(other[type.first]); });
}

std::string Children::summary() const {
    std::string text;
    for (const auto& [type, ids] : types_) {
        if (!text.empty()) text += ',';
        text += type + ids.encode_with_brackets();
    }
    return text;
}

bool Children::operator<(const Children& other) const noexcept {
    auto less = [](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first < b.first;
        auto left = a.second.ranges(), right = b.second.ranges();
        return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
    };
    return std::lexicographical_compare(types_.begin(), types_.end(), other.types_.begin(), other.types_.end(), less);
}

} // namespace flux
