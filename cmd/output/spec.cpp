#include <flux/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cmd/output/columns.hpp>
#include <cmd/output/spec.hpp>
#include <cstdio>

namespace flux::output {

namespace {

/// No terminal is wider, no number longer.
constexpr std::size_t number_max = 4096;

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

[[noreturn]] void invalid(std::string_view text) {
    throw Error(EINVAL, "Invalid format specifier '" + std::string(text) + "'");
}

[[noreturn]] void wrong_type(const Spec& spec, const char* kind) {
    throw Error(EINVAL, std::string("Unknown format code '") + spec.type + "' for object of type '" + kind + "'");
}

/// A number on its way to text.
struct Number {
    bool negative = false;
    std::string prefix{}; // 0x
    std::string digits{}; // before the point
    std::string rest{};   // point, decimals, exponent, percent sign
    unsigned group = 3;   // digits between separators
};

void group_digits(Number& number, char separator, std::size_t minimum) {
    const auto grouped = [&] {
        std::string text;
        for (std::size_t index = 0; index < number.digits.size(); ++index) {
            if (index > 0 && (number.digits.size() - index) % number.group == 0) text += separator;
            text += number.digits[index];
        }
        return text;
    };
    // Zeros that fill the width are grouped too.
    auto text = grouped();
    while (text.size() < minimum) {
        number.digits.insert(0, 1, '0');
        text = grouped();
    }
    number.digits = text;
}

std::string assemble(const Spec& spec, Number number) {
    std::string sign;
    if (number.negative)
        sign = "-";
    else if (spec.sign == '+' || spec.sign == ' ')
        sign = spec.sign;
    const char align = spec.align ? spec.align : spec.zero_padded ? '=' : '>';
    const std::string fill = !spec.fill.empty() ? spec.fill : spec.zero_padded ? "0" : " ";

    const auto around = sign.size() + number.prefix.size() + number.rest.size();
    if (spec.grouping && std::isxdigit(static_cast<unsigned char>(number.digits[0]))) {
        const bool zeros = align == '=' && fill == "0" && spec.width > around;
        group_digits(number, spec.grouping, zeros ? spec.width - around : 0);
    }
    const auto body = number.digits + number.rest;
    if (align != '=') return pad(sign + number.prefix + body, spec.width, align, fill);
    const auto lead = sign.size() + number.prefix.size();
    return sign + number.prefix + pad(body, spec.width > lead ? spec.width - lead : 0, '>', fill);
}

std::string print(const Spec& spec, char type, double value, std::size_t precision) {
    const std::array<char, 7> format = {'%', spec.alternate ? '#' : '0', '.', '*', type, '\0'};
    std::string text(number_max * 2, '\0');
    const auto length = std::snprintf(text.data(), text.size(), format.data(), static_cast<int>(precision), value);
    text.resize(static_cast<std::size_t>(length));
    return text;
}

/// Without a type letter but with a precision: as `g`, but a fixed point is followed by a digit.
std::string print_general(const Spec& spec, double value, std::size_t precision) {
    precision = std::max<std::size_t>(precision, 1);
    auto text = print(spec, 'e', value, precision - 1);
    const auto exponent = text.find('e');
    const auto point = std::stoi(text.substr(exponent + 1)) + 1;
    if (point <= -4 || point > static_cast<int>(precision) - 1) {
        auto mantissa = text.substr(0, exponent);
        if (mantissa.find('.') != mantissa.npos && !spec.alternate) {
            mantissa.erase(mantissa.find_last_not_of('0') + 1);
            if (mantissa.ends_with('.')) mantissa.pop_back();
        }
        return mantissa + text.substr(exponent);
    }
    text = print(spec, 'g', value, precision);
    if (text.find('.') == text.npos) text += ".0";
    return text;
}

std::string format_real(const Spec& spec, double value) {
    Number number;
    number.negative = std::signbit(value) && !std::isnan(value);
    auto magnitude = std::isnan(value) ? value : std::fabs(value);
    const auto precision = spec.precision.value_or(6);
    std::string text;
    switch (spec.type) {
    case 0:
        if (!std::isfinite(magnitude) || !spec.precision)
            text = to_text(magnitude);
        else
            text = print_general(spec, magnitude, precision);
        break;
    case 'n': text = print(spec, 'g', magnitude, precision); break;
    case '%': text = print(spec, 'f', magnitude * 100, precision) + '%'; break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': text = print(spec, spec.type, magnitude, precision); break;
    default: wrong_type(spec, "float");
    }
    const auto end = std::isfinite(magnitude) ? text.find_first_not_of("0123456789") : text.find('%');
    number.digits = text.substr(0, end);
    if (end != text.npos) number.rest = text.substr(end);
    if (spec.no_negative_zero && text.substr(0, text.find_first_of("eE")).find_first_of("123456789") == text.npos)
        number.negative = number.negative && !std::isfinite(magnitude);
    return assemble(spec, std::move(number));
}

std::string format_integer(const Spec& spec, std::int64_t value) {
    int base = 10;
    switch (spec.type) {
    case 0:
    case 'd':
    case 'n': break;
    case 'b': base = 2; break;
    case 'o': base = 8; break;
    case 'x':
    case 'X': base = 16; break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case '%': return format_real(spec, static_cast<double>(value));
    case 'c':
        if (value < 0 || value > 0x10ffff) throw Error(EINVAL, "'c' needs the number of a character");
        return pad(encode_utf8(static_cast<char32_t>(value)), spec.width, spec.align ? spec.align : '>',
                   spec.fill.empty() ? " " : spec.fill);
    default: wrong_type(spec, "int");
    }
    if (spec.precision) throw Error(EINVAL, "Precision not allowed in integer format specifier");
    if (spec.no_negative_zero)
        throw Error(EINVAL, "Negative zero coercion (z) not allowed in format specifier with integer");
    Number number;
    number.negative = value < 0;
    const auto magnitude = number.negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    std::array<char, 64> digits;
    number.digits.assign(digits.data(),
                         std::to_chars(digits.data(), digits.data() + digits.size(), magnitude, base).ptr);
    if (spec.type == 'X')
        std::transform(number.digits.begin(), number.digits.end(), number.digits.begin(),
                       [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (spec.alternate && base != 10) number.prefix = std::string("0") + spec.type;
    if (base != 10) number.group = 4;
    return assemble(spec, std::move(number));
}

std::string format_text(const Spec& spec, std::string_view text) {
    if (!spec.for_text()) wrong_type(spec, "str");
    if (spec.sign || spec.no_negative_zero || spec.alternate || spec.grouping || spec.align == '=')
        throw Error(EINVAL, "sign, '=', 'z', '#' and grouping are not allowed for text");
    if (spec.precision) text = cut(text, *spec.precision);
    return pad(text, spec.width, spec.align ? spec.align : '<',
               !spec.fill.empty() ? std::string_view(spec.fill)
               : spec.zero_padded ? "0"
                                  : " ");
}

/// For values that print as text although numbers are expected: only place and length count.
Spec text_part(const Spec& spec) {
    Spec part;
    part.fill = spec.fill;
    part.align = spec.align == '=' ? '>' : spec.align;
    part.width = spec.width;
    part.precision = spec.precision;
    return part;
}

std::string format_core(const Spec& spec, const Value& value) {
    if (spec.dash_for_empty && is_empty_text(to_text(value))) return format_text(text_part(spec), "-");
    if (std::holds_alternative<Absent>(value)) return format_text(text_part(spec), "");
    if (const auto* text = std::get_if<std::string>(&value)) return format_text(spec, *text);
    if (spec.plain) return to_text(value);
    if (const auto* truth = std::get_if<bool>(&value)) return format_integer(spec, *truth);
    if (const auto* spelled = std::get_if<Spelled>(&value)) return format_integer(spec, spelled->number);
    if (const auto* number = std::get_if<double>(&value)) return format_real(spec, *number);
    return format_integer(spec, std::get<std::int64_t>(value));
}

} // namespace

Spec parse_spec(std::string_view text) {
    Spec spec;
    auto rest = text;
    if (rest.ends_with('+')) {
        spec.mark_cut = true;
        rest.remove_suffix(1);
    }
    if (rest.ends_with('h')) {
        spec.dash_for_empty = true;
        rest.remove_suffix(1);
    }
    spec.plain = rest.empty();

    const auto accept = [&](char c) {
        if (rest.empty() || rest.front() != c) return false;
        rest.remove_prefix(1);
        return true;
    };
    const auto take_one_of = [&](std::string_view set) {
        if (rest.empty() || set.find(rest.front()) == set.npos) return '\0';
        const char taken = rest.front();
        rest.remove_prefix(1);
        return taken;
    };
    const auto take_number = [&]() -> std::optional<std::size_t> {
        std::size_t value = 0;
        const auto [end, failure] = std::from_chars(rest.begin(), rest.end(), value);
        if (end == rest.begin()) return std::nullopt;
        if (failure != std::errc{} || value > number_max) invalid(text);
        rest.remove_prefix(static_cast<std::size_t>(end - rest.begin()));
        return value;
    };

    if (!rest.empty()) {
        auto after_fill = rest;
        take_code_point(after_fill);
        if (!after_fill.empty() && is_align(after_fill.front())) {
            spec.fill = rest.substr(0, rest.size() - after_fill.size());
            rest = after_fill;
        }
    }
    spec.align = take_one_of("<>^=");
    spec.sign = take_one_of("+- ");
    spec.no_negative_zero = accept('z');
    spec.alternate = accept('#');
    spec.zero_padded = accept('0');
    spec.width = take_number().value_or(0);
    spec.grouping = take_one_of(",_");
    if (accept('.')) {
        spec.precision = take_number();
        if (!spec.precision) throw Error(EINVAL, "Format specifier missing precision");
    }
    spec.type = take_one_of("bcdeEfFgGnosxX%");
    if (!rest.empty()) invalid(text);
    if (spec.grouping && (spec.type == 'n' || spec.type == 'c' || spec.type == 's' ||
                          (spec.grouping == ',' && std::string_view("boxX").find(spec.type) != std::string_view::npos)))
        throw Error(EINVAL, std::string("Cannot specify '") + spec.grouping + "' with '" + spec.type + "'.");
    return spec;
}

std::string format_value(const Spec& spec, const Value& value) {
    auto text = format_core(spec, value);
    const auto width = columns(text);
    if (!spec.mark_cut || width == 0 || width >= columns(to_text(value))) return text;
    return pad(cut(text, width - 1), width - 1, '<') + '+';
}

} // namespace flux::output
