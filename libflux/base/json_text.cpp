#include "libflux/base/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace flux::detail {
namespace {

// As deep as jansson goes.
constexpr int max_depth = 2048;

enum ByteClass : std::uint8_t { plain, beyond_ascii, special };

constexpr auto classes = [] {
    std::array<ByteClass, 256> table{};
    for (std::size_t byte = 0; byte < 256; ++byte) {
        bool is_special = byte < 0x20 || byte == '"' || byte == '\\';
        table[byte] = is_special ? special : byte >= 0x80 ? beyond_ascii : plain;
    }
    return table;
}();

ByteClass class_of(char c) noexcept { return classes[static_cast<unsigned char>(c)]; }

// Eight bytes at a time: most text has none that is not plain.
const char* skip_plain(const char* at, const char* end) noexcept {
    constexpr std::uint64_t each = 0x0101010101010101;
    for (; end - at >= 8; at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        auto found = ((word - each * 0x20) | ((word ^ each * '"') - each) | ((word ^ each * '\\') - each)) & ~word;
        if ((found | word) & each * 0x80) break;
    }
    while (at < end && class_of(*at) == plain) ++at;
    return at;
}

void append_utf8(std::string& out, std::uint32_t code) {
    auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) return byte(0xC0 | code >> 6), byte(0x80 | (code & 63));
    if (code < 0x10000) {
        byte(0xE0 | code >> 12);
    } else {
        byte(0xF0 | code >> 18);
        byte(0x80 | (code >> 12 & 63));
    }
    byte(0x80 | (code >> 6 & 63));
    byte(0x80 | (code & 63));
}

/// Reads one text. Whatever it does not take returns null and ends the reading.
class Reader {
public:
    explicit Reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    json_t* whole() {
        json_t* value = read_value(0);
        skip_space();
        return at_ == end_ ? value : give_up(value);
    }

private:
    void skip_space() noexcept {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
    }
    /// Skip space and this character.
    bool take(char c) noexcept {
        skip_space();
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }
    json_t* word(std::string_view word, json_t* value) noexcept {
        if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) return nullptr;
        at_ += word.size();
        return value;
    }

    json_t* read_value(int depth) {
        skip_space();
        if (at_ == end_ || depth == max_depth) return nullptr;
        switch (*at_) {
        case '{': return read_object(depth);
        case '[': return read_array(depth);
        case '"': return read_string();
        case 't': return word("true", json_true());
        case 'f': return word("false", json_false());
        case 'n': return word("null", json_null());
        default: return read_number();
        }
    }

    json_t* read_object(int depth) {
        ++at_;
        json_t* object = json_object();
        if (take('}')) return object;
        std::string storage;
        do {
            skip_space();
            auto key = read_text(storage);
            if (!key || key->find('\0') != key->npos || !take(':')) return give_up(object);
            auto set = ascii_ ? &json_object_setn_new_nocheck : &json_object_setn_new;
            if (set(object, key->data(), key->size(), read_value(depth + 1)) < 0) return give_up(object);
        } while (take(','));
        return take('}') ? object : give_up(object);
    }

    json_t* read_array(int depth) {
        ++at_;
        json_t* array = json_array();
        if (take(']')) return array;
        do {
            if (json_array_append_new(array, read_value(depth + 1)) < 0) return give_up(array);
        } while (take(','));
        return take(']') ? array : give_up(array);
    }

    static json_t* give_up(json_t* value) noexcept {
        json_decref(value);
        return nullptr;
    }

    json_t* read_string() {
        std::string storage;
        auto text = read_text(storage);
        if (!text) return nullptr;
        return ascii_ ? json_stringn_nocheck(text->data(), text->size()) : json_stringn(text->data(), text->size());
    }

    /// What stands between quotes: within the text itself, or in `storage` if something in it is escaped. Says in
    /// ascii_ whether its encoding needs no check.
    std::optional<std::string_view> read_text(std::string& storage) {
        if (at_ == end_ || *at_ != '"') return std::nullopt;
        storage.clear();
        ascii_ = true;
        for (const char* begin = ++at_;; begin = at_) {
            at_ = skip_plain(at_, end_);
            for (; at_ < end_ && class_of(*at_) == beyond_ascii; at_ = skip_plain(at_ + 1, end_)) ascii_ = false;
            if (at_ == end_) return std::nullopt;
            std::string_view run(begin, static_cast<std::size_t>(at_ - begin));
            char stopper = *at_++;
            if (stopper == '"' && storage.empty()) return run;
            storage.append(run);
            if (stopper == '"') return storage;
            if (stopper != '\\' || !read_escape(storage)) return std::nullopt;
        }
    }

    bool read_escape(std::string& out) {
        if (at_ == end_) return false;
        constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        char letter = *at_++;
        if (auto which = letters.find(letter); which != letters.npos) {
            out += meanings[which];
            return true;
        }
        if (letter != 'u') return false;
        auto code = read_hex();
        if (!code) return false;
        if (*code >= 0xD800 && *code < 0xE000) {
            if (*code >= 0xDC00 || end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') return false;
            at_ += 2;
            auto low = read_hex();
            if (!low || *low < 0xDC00 || *low >= 0xE000) return false;
            code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
        }
        append_utf8(out, *code);
        return true;
    }

    std::optional<std::uint32_t> read_hex() noexcept {
        std::uint32_t code = 0;
        if (end_ - at_ < 4) return std::nullopt;
        auto [stop, failure] = std::from_chars(at_, at_ + 4, code, 16);
        if (failure != std::errc() || stop != at_ + 4) return std::nullopt;
        at_ += 4;
        return code;
    }

    json_t* read_number() noexcept {
        const char* begin = at_;
        auto digits = [this] {
            const char* first = at_;
            while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
            return at_ - first;
        };
        if (*at_ == '-') ++at_;
        const char* first = at_;
        auto count = digits();
        if (count == 0 || (count > 1 && *first == '0')) return nullptr;
        bool real = false;
        if (at_ < end_ && *at_ == '.') {
            real = true;
            ++at_;
            if (digits() == 0) return nullptr;
        }
        if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
            real = true;
            ++at_;
            if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
            if (digits() == 0) return nullptr;
        }
        return real ? converted<double>(begin, &json_real) : converted<json_int_t>(begin, &json_integer);
    }

    template <class T> json_t* converted(const char* begin, json_t* (*make)(T)) const noexcept {
        T value{};
        auto [stop, failure] = std::from_chars(begin, at_, value);
        return failure == std::errc() && stop == at_ ? make(value) : nullptr;
    }

    const char* at_;
    const char* end_;
    bool ascii_ = true; // of the string read last
};

void append_string(std::string& out, std::string_view text) {
    constexpr std::string_view meanings = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    out += '"';
    for (const char *at = text.data(), *end = at + text.size();;) {
        const char* begin = at;
        at = skip_plain(at, end);
        while (at < end && class_of(*at) == beyond_ascii) at = skip_plain(at + 1, end);
        out.append(begin, at);
        if (at == end) break;
        char c = *at++;
        out += '\\';
        if (auto which = meanings.find(c); which != meanings.npos) {
            out += letters[which];
        } else {
            out += "u00";
            out += "0123456789ABCDEF"[c >> 4];
            out += "0123456789ABCDEF"[c & 15];
        }
    }
    out += '"';
}

void append_number(std::string& out, json_int_t value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// The shortest text that reads back as the same value, of a form that is read as a real number again.
void append_real(std::string& out, double value) {
    constexpr double smallest_fixed = 1e-4, first_scientific = 1e16;
    auto magnitude = std::fabs(value);
    bool fixed = magnitude == 0 || (magnitude >= smallest_fixed && magnitude < first_scientific);
    char digits[32];
    auto* end = std::to_chars(digits, digits + sizeof digits, value,
                              fixed ? std::chars_format::fixed : std::chars_format::scientific)
                    .ptr;
    out.append(digits, end);
    if (std::none_of(digits, end, [](char c) { return c == '.' || c == 'e'; })) out += ".0";
}

void append_object(std::string& out, json_t* object, bool sort_keys) {
    auto append = [&](std::string_view key, const json_t* value) {
        if (out.back() != '{') out += ',';
        append_string(out, key);
        out += ':';
        append_json(out, value, sort_keys);
    };
    std::vector<std::pair<std::string_view, const json_t*>> sorted;
    out += '{';
    for (void* at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        std::string_view key(json_object_iter_key(at), json_object_iter_key_len(at));
        if (sort_keys)
            sorted.emplace_back(key, json_object_iter_value(at));
        else
            append(key, json_object_iter_value(at));
    }
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [key, value] : sorted) append(key, value);
    out += '}';
}

} // namespace

json_t* parse_plain_json(std::string_view text) { return Reader(text).whole(); }

void append_json(std::string& out, const json_t* value, bool sort_keys) {
    switch (json_typeof(value)) {
    case JSON_OBJECT: return append_object(out, const_cast<json_t*>(value), sort_keys);
    case JSON_ARRAY:
        out += '[';
        for (std::size_t i = 0; i < json_array_size(value); ++i) {
            if (i > 0) out += ',';
            append_json(out, json_array_get(value, i), sort_keys);
        }
        out += ']';
        break;
    case JSON_STRING: return append_string(out, {json_string_value(value), json_string_length(value)});
    case JSON_INTEGER: return append_number(out, json_integer_value(value));
    case JSON_REAL: return append_real(out, json_real_value(value));
    case JSON_TRUE: out += "true"; break;
    case JSON_FALSE: out += "false"; break;
    case JSON_NULL: out += "null"; break;
    }
}

std::string indent_json(std::string_view compact, unsigned width) {
    std::string out;
    std::size_t depth = 0;
    auto new_line = [&] { out.append(1, '\n').append(depth * width, ' '); };
    for (std::size_t at = 0; at < compact.size(); ++at) {
        char c = compact[at];
        if (c == '"') {
            auto begin = at++;
            for (; compact[at] != '"'; ++at)
                if (compact[at] == '\\') ++at;
            out.append(compact, begin, at + 1 - begin);
        } else if (c == '{' || c == '[') {
            out += c;
            if (compact[at + 1] == c + 2) { // its end: `]` and `}` come two after
                out += compact[++at];
                continue;
            }
            ++depth;
            new_line();
        } else if (c == '}' || c == ']') {
            --depth;
            new_line();
            out += c;
        } else {
            out += c;
            if (c == ',') new_line();
            if (c == ':') out += ' ';
        }
    }
    return out;
}

} // namespace flux::detail
