#include <algorithm>
#include <clocale>
#include <cmd/output/columns.hpp>
#include <cwchar>
#include <locale.h>

namespace flux::output {

namespace {

constexpr char32_t replacement = 0xfffd;

/// glibc's table of widths, whatever locale the process runs in.
int width_of(char32_t code_point) noexcept {
    if (code_point < 0x7f) return code_point >= 0x20 ? 1 : 0;
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (!utf8) return 1;
    const auto previous = ::uselocale(utf8);
    const int width = ::wcwidth(static_cast<wchar_t>(code_point));
    ::uselocale(previous);
    return std::max(width, 0);
}

} // namespace

char32_t take_code_point(std::string_view& text) noexcept {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    char32_t value = length == 1 ? first : first & (0xffu >> (length + 1));
    bool whole = length > 0 && length <= text.size();
    for (std::size_t index = 1; whole && index < length; ++index) {
        const auto byte = static_cast<unsigned char>(text[index]);
        whole = (byte & 0xc0) == 0x80;
        value = value << 6 | (byte & 0x3f);
    }
    text.remove_prefix(whole ? length : 1);
    return whole ? value : replacement;
}

std::string encode_utf8(char32_t code_point) {
    const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | (code_point >> shift & 0x3f)); };
    if (code_point < 0x80) return {static_cast<char>(code_point)};
    if (code_point < 0x800) return {static_cast<char>(0xc0 | code_point >> 6), tail(0)};
    if (code_point < 0x10000) return {static_cast<char>(0xe0 | code_point >> 12), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | code_point >> 18), tail(12), tail(6), tail(0)};
}

std::size_t columns(std::string_view text) noexcept {
    std::size_t sum = 0;
    while (!text.empty()) sum += static_cast<std::size_t>(width_of(take_code_point(text)));
    return sum;
}

std::string_view cut(std::string_view text, std::size_t width) noexcept {
    auto rest = text;
    std::size_t sum = 0, taken = 0;
    while (!rest.empty()) {
        sum += static_cast<std::size_t>(width_of(take_code_point(rest)));
        if (sum > width) break;
        taken = text.size() - rest.size();
    }
    return text.substr(0, taken);
}

std::string cut_marked(std::string_view text, std::size_t width) {
    if (width == 0 || columns(text) <= width) return std::string(text);
    // A wide character at the cut leaves a blank.
    return pad(cut(text, width - 1), width - 1, '<') + '+';
}

std::string pad(std::string_view text, std::size_t width, char align, std::string_view fill) {
    const auto own = columns(text);
    std::size_t missing = own < width ? width - own : 0;
    std::size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
    std::string padded;
    for (std::size_t count = 0; count < before; ++count) padded += fill;
    padded += text;
    for (std::size_t count = before; count < missing; ++count) padded += fill;
    return padded;
}

} // namespace flux::output
