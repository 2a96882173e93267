#include "text_pool.hpp"

namespace flux::job_list {

Text::Text(const Text& other) noexcept : entry_(other.entry_) {
    if (entry_) ++entry_->second.uses;
}

Text::~Text() {
    if (!entry_ || --entry_->second.uses > 0) return;
    auto& texts = entry_->second.pool->texts_;
    texts.erase(texts.find(entry_->first));
}

std::string_view Text::view() const noexcept {
    if (!entry_) return {};
    return entry_->first;
}

Text TextPool::intern(std::string_view text) {
    auto [at, added] = texts_.try_emplace(std::string(text), Text::Count{this, 0});
    ++at->second.uses;
    return Text(&*at);
}

} // namespace flux::job_list
