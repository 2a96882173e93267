#include <flux/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cmd/output/format.hpp>
#include <utility>

namespace flux::output {

namespace {

constexpr std::string_view sort_prefix = "sort:";

bool strip_suffix(std::string& text, std::string_view suffix) {
    if (!text.ends_with(suffix)) return false;
    text.resize(text.size() - suffix.size());
    return true;
}

/// Of `!d` the spec is a strftime pattern, followed by `::` and a normal spec, or only by suffixes of one.
void split_pattern(Format::Field& field, std::string_view text) {
    auto end = text.find("::");
    auto rest = end == text.npos ? text.size() : end + 2;
    if (end == text.npos) {
        const auto is_suffix = [&](char suffix) {
            return end > 0 && text[end - 1] == suffix && (end < 2 || text[end - 2] != '%');
        };
        end = text.size();
        if (is_suffix('+')) --end;
        if (is_suffix('h')) --end;
        rest = end;
    }
    field.pattern = text.substr(0, end);
    field.spec = parse_spec(text.substr(rest));
}

/// The inside of `{…}`.
Format::Field parse_field(std::string_view text, const Headings& headings) {
    Format::Field field;
    const auto name_end = std::min(text.find_first_of("!:"), text.size());
    field.name = text.substr(0, name_end);
    auto heading = headings(field.name);
    if (!heading) throw Error(EINVAL, "Unknown format field: " + field.name);
    field.heading = *std::move(heading);
    text.remove_prefix(name_end);
    if (text.starts_with('!')) {
        if (text.size() < 2) throw Error(EINVAL, "end of string while looking for conversion specifier");
        field.conversion = text[1];
        text.remove_prefix(2);
        if (!text.empty() && text.front() != ':') throw Error(EINVAL, "expected ':' after conversion specifier");
    }
    if (text.starts_with(':')) text.remove_prefix(1);
    if (field.conversion == 'd')
        split_pattern(field, text);
    else
        field.spec = parse_spec(text);
    return field;
}

} // namespace

std::vector<SortKey> parse_sort_keys(std::string_view text, const Headings& headings) {
    std::vector<SortKey> keys;
    while (!text.empty()) {
        auto name = text.substr(0, text.find(','));
        text.remove_prefix(std::min(name.size() + 1, text.size()));
        const bool descending = name.starts_with('-');
        if (descending) name.remove_prefix(1);
        if (name.empty()) continue;
        if (!headings(name)) throw Error(EINVAL, "Invalid sort key: " + std::string(name));
        keys.push_back({std::string(name), descending});
    }
    return keys;
}

Format Format::parse(std::string_view text, const Headings& headings) {
    Format format;
    if (text.starts_with(sort_prefix)) {
        text.remove_prefix(sort_prefix.size());
        const auto keys = text.substr(0, text.find_first_of(" \t\n{"));
        format.sort_keys = parse_sort_keys(keys, headings);
        text.remove_prefix(keys.size());
        if (text.starts_with(' ')) text.remove_prefix(1);
    }

    std::string literal;
    while (!text.empty()) {
        const char c = text.front();
        text.remove_prefix(1);
        if (c != '{' && c != '}') {
            literal += c;
            continue;
        }
        if (text.starts_with(c)) {
            literal += c;
            text.remove_prefix(1);
            continue;
        }
        if (c == '}') throw Error(EINVAL, "Single '}' encountered in format string");
        const auto end = text.find_first_of("{}");
        if (end == text.npos) throw Error(EINVAL, "expected '}' before end of string");
        if (text[end] == '{') throw Error(EINVAL, "unexpected '{' in field name");
        auto field = parse_field(text.substr(0, end), headings);
        const bool both = strip_suffix(literal, "?+:");
        field.collapse = both || strip_suffix(literal, "?:");
        field.widen = both || (!field.collapse && strip_suffix(literal, "+:"));
        field.before = std::exchange(literal, {});
        format.fields.push_back(std::move(field));
        text.remove_prefix(end + 1);
    }
    format.tail = std::move(literal);
    return format;
}

std::vector<std::string> Format::names() const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const auto& field : fields) add(field.name);
    for (const auto& key : sort_keys) add(key.name);
    return names;
}

Format Format::without(std::span<const std::string_view> names) const {
    auto format = *this;
    std::erase_if(format.fields,
                  [&](const Field& field) { return std::find(names.begin(), names.end(), field.name) != names.end(); });
    return format;
}

} // namespace flux::output
