#include <flux/error.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <pmi/wire.hpp>

namespace flux::pmi {

namespace {

constexpr std::array<const char*, 15> code_names = {
    "SUCCESS",         "INIT",
    "NOMEM",           "INVALID_ARG",
    "INVALID_KEY",     "INVALID_KEY_LENGTH",
    "INVALID_VAL",     "INVALID_VAL_LENGTH",
    "INVALID_LENGTH",  "INVALID_NUM_ARGS",
    "INVALID_ARGS",    "INVALID_NUM_PARSED",
    "INVALID_KEYVALP", "INVALID_SIZE",
    "OTHER",
};

/// Enough of a line to recognize it in an error text.
constexpr std::size_t quoted_max = 80;

bool takes_rest_of_line(std::string_view key) noexcept { return key == "value" || key == "msg" || key == "error_msg"; }

} // namespace

const char* code_name(int code) noexcept {
    if (code == fail) return "FAIL";
    if (code < 0 || static_cast<std::size_t>(code) >= code_names.size()) return "unknown";
    return code_names[static_cast<std::size_t>(code)];
}

std::optional<std::string_view> Line::find(std::string_view key) const noexcept {
    auto rest = text_;
    while (!rest.empty()) {
        const auto equals = rest.find_first_of("= ");
        if (equals == std::string_view::npos) break;
        const auto name = rest.substr(0, equals);
        const bool has_value = rest[equals] == '=';
        rest.remove_prefix(equals + 1);
        if (!has_value) continue;
        const auto value = takes_rest_of_line(name) ? rest : rest.substr(0, rest.find(' '));
        if (name == key) return value;
        rest.remove_prefix(value.size());
    }
    return std::nullopt;
}

std::optional<int> Line::find_int(std::string_view key) const noexcept {
    const auto text = find(key);
    if (!text) return std::nullopt;
    int value = 0;
    const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (failure != std::errc{} || end != text->data() + text->size()) return std::nullopt;
    return value;
}

std::string_view Line::get(std::string_view key) const {
    if (const auto value = find(key)) return *value;
    throw Error(EPROTO, "no " + std::string(key) + "= in '" + std::string(text_.substr(0, quoted_max)) + "'");
}

int Line::get_int(std::string_view key) const {
    const auto text = get(key);
    if (const auto value = find_int(key)) return *value;
    throw Error(EPROTO, std::string(key) + "=" + std::string(text.substr(0, quoted_max)) + " is no integer");
}

std::optional<std::string> LineBuffer::next() {
    const auto end = bytes_.find('\n');
    if (end > line_max_ && bytes_.size() > line_max_)
        throw Error(EPROTO, "line is longer than " + std::to_string(line_max_) + " bytes");
    if (end == std::string::npos) return std::nullopt;
    auto line = bytes_.substr(0, end);
    bytes_.erase(0, end + 1);
    return line;
}

} // namespace flux::pmi
