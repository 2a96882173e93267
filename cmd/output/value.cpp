#include <array>
#include <charconv>
#include <cmath>
#include <cmd/output/columns.hpp>
#include <cmd/output/value.hpp>
#include <cstdio>

namespace flux::output {

namespace {

template <class... F> struct Overloaded : F... { using F::operator()...; };
template <class... F> Overloaded(F...) -> Overloaded<F...>;

std::string escape(char32_t code_point) {
    std::array<char, 16> text;
    const auto number = static_cast<unsigned>(code_point);
    const char* format = number < 0x100 ? "\\x%02x" : number < 0x10000 ? "\\u%04x" : "\\U%08x";
    std::snprintf(text.data(), text.size(), format, number);
    return text.data();
}

} // namespace

std::string to_text(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
    std::array<char, 400> digits;
    const auto magnitude = std::fabs(number);
    const bool scientific = number != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
    const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                              scientific ? std::chars_format::scientific : std::chars_format::fixed);
    std::string text(digits.data(), end);
    if (text.find_first_of(".e") == text.npos) text += ".0";
    return text;
}

std::string to_text(const Value& value) {
    return std::visit(Overloaded{
                          [](Absent) { return std::string(); },
                          [](bool truth) { return std::string(truth ? "True" : "False"); },
                          [](std::int64_t number) { return std::to_string(number); },
                          [](double number) { return to_text(number); },
                          [](const std::string& text) { return text; },
                          [](const Spelled& spelled) { return spelled.text; },
                      },
                      value);
}

std::string to_quoted(const Value& value, bool ascii_only) {
    const auto* string = std::get_if<std::string>(&value);
    if (!string) return to_text(value);
    const char quote = string->find('\'') != string->npos && string->find('"') == string->npos ? '"' : '\'';
    std::string quoted(1, quote);
    for (std::string_view rest = *string; !rest.empty();) {
        const auto start = rest;
        const auto code_point = take_code_point(rest);
        if (code_point == static_cast<unsigned char>(quote) || code_point == '\\') quoted += '\\';
        if (code_point == '\n')
            quoted += "\\n";
        else if (code_point == '\t')
            quoted += "\\t";
        else if (code_point == '\r')
            quoted += "\\r";
        else if (code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa1) || (ascii_only && code_point > 0x7e))
            quoted += escape(code_point);
        else
            quoted += start.substr(0, start.size() - rest.size());
    }
    return quoted + quote;
}

std::optional<double> to_number(const Value& value) {
    if (const auto* truth = std::get_if<bool>(&value)) return *truth;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    if (const auto* spelled = std::get_if<Spelled>(&value)) return static_cast<double>(spelled->number);
    if (const auto* number = std::get_if<double>(&value)) return *number;
    const auto* string = std::get_if<std::string>(&value);
    if (!string) return std::nullopt;
    std::string_view text = *string;
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    double number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool is_empty_text(std::string_view text) {
    return text.empty() || text == "0s" || text == "0.0" || text == "0:00:00" || text == "1970-01-01T00:00:00";
}

} // namespace flux::output
