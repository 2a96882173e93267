#include "cmd/submission/directives.hpp"

#include <flux/error.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <optional>

namespace flux::submission {
namespace {

[[noreturn]] void refuse(std::size_t line, const std::string& why) {
    throw Error(EINVAL, "line " + std::to_string(line) + ": " + why);
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed_right(std::string_view text) {
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// What stands before the text of a directive.
struct Sentinel {
    std::string_view prefix;
    std::string_view tag;
    std::size_t size() const { return prefix.size() + tag.size(); }
    bool operator==(const Sentinel&) const = default;
};

std::optional<Sentinel> sentinel_of(std::string_view line) {
    std::size_t size = 0;
    while (size < line.size() && !is_word_character(line[size])) ++size;
    for (std::string_view tag : {"flux:", "FLUX:"})
        if (line.substr(size).starts_with(tag)) return Sentinel{line.substr(0, size), line.substr(size, tag.size())};
    return std::nullopt;
}

/// Words as a POSIX shell splits them, with triple quotes around text that may hold anything.
class Words {
public:
    Words(std::string_view text, std::size_t line) : text_(text), line_(line) {}

    std::vector<std::string> split() {
        std::vector<std::string> words;
        std::optional<std::string> word;
        while (!text_.empty()) {
            const char c = text_.front();
            if (is_blank(c) || c == '\n') {
                if (word) words.push_back(*std::exchange(word, std::nullopt));
                text_.remove_prefix(1);
            } else if (c == '#' && !word) {
                text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
            } else {
                if (!word) word.emplace();
                take(*word);
            }
        }
        if (word) words.push_back(*word);
        return words;
    }

private:
    void take(std::string& word) {
        for (std::string_view quotes : {"'''", "\"\"\""})
            if (text_.starts_with(quotes)) return take_quoted(word, quotes);
        const char c = text_.front();
        if (c == '\'') return take_quoted(word, "'");
        text_.remove_prefix(1);
        if (c == '"') return take_double(word);
        if (c != '\\') {
            word += c;
            return;
        }
        if (text_.empty()) refuse(line_, "No escaped character");
        word += text_.front();
        text_.remove_prefix(1);
    }

    void take_quoted(std::string& word, std::string_view quotes) {
        auto end = text_.find(quotes, quotes.size());
        if (end == text_.npos) refuse(line_, "No closing quotation");
        auto inside = text_.substr(quotes.size(), end - quotes.size());
        text_.remove_prefix(end + quotes.size());
        word += quotes.size() == 3 ? dedented(inside) : std::string(inside);
    }

    void take_double(std::string& word) {
        while (!text_.starts_with('"')) {
            if (text_.empty()) refuse(line_, "No closing quotation");
            if (text_.starts_with("\\\"") || text_.starts_with("\\\\")) text_.remove_prefix(1);
            word += text_.front();
            text_.remove_prefix(1);
        }
        text_.remove_prefix(1);
    }

    /// Text over several lines without what all of them are indented by, and without the newline it begins with.
    static std::string dedented(std::string_view text) {
        if (!text.starts_with('\n')) return std::string(text);
        text.remove_prefix(1);
        std::vector<std::string_view> lines;
        for (auto rest = text; !rest.empty();) {
            auto line = rest.substr(0, rest.find('\n'));
            lines.push_back(line);
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        }
        if (!lines.empty() && trimmed_right(lines.back()).empty())
            lines.pop_back(); // what stands before the closing quotes
        std::size_t indent = std::string_view::npos;
        for (auto line : lines)
            if (auto first = line.find_first_not_of(" \t"); first != line.npos) indent = std::min(indent, first);
        std::string result;
        for (auto line : lines) result.append(line.substr(std::min(indent, line.size()))).append("\n");
        return result;
    }

    std::string_view text_;
    std::size_t line_;
};

/// Whether a text has triple quotes that it does not close.
bool open_triple_quotes(std::string_view text) {
    for (std::string_view quotes : {"'''", "\"\"\""}) {
        std::size_t count = 0;
        for (auto at = text.find(quotes); at != text.npos; at = text.find(quotes, at + quotes.size())) ++count;
        if (count % 2 == 1) return true;
    }
    return false;
}

} // namespace

std::vector<std::string> split_words(std::string_view text, std::size_t line) { return Words(text, line).split(); }

std::vector<Directive> read_directives(std::string_view script) {
    std::vector<Directive> directives;
    std::optional<Sentinel> sentinel;
    std::optional<std::size_t> ended; // at this line
    std::string pending;              // a directive that goes on
    std::size_t pending_line = 0, number = 0;
    for (auto rest = script; !rest.empty();) {
        auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        ++number;
        auto found = sentinel_of(line);
        if (!found) {
            if (!pending.empty()) refuse(pending_line, "Unterminated triple quotes");
            const bool blank = trimmed_right(line).empty();
            if (sentinel && !ended && !blank && !line.starts_with(trimmed_right(sentinel->prefix))) ended = number;
            continue;
        }
        if (ended)
            refuse(number, "orphan '" + std::string(found->tag) + "' detected: directives disabled after line " +
                               std::to_string(*ended));
        if (sentinel && !(*found == *sentinel))
            refuse(number, "sentinel changed from '" + std::string(sentinel->prefix) + std::string(sentinel->tag) +
                               "' to '" + std::string(found->prefix) + std::string(found->tag) + "'");
        sentinel = found;
        auto text = line.substr(found->size());
        if (pending.empty()) {
            pending_line = number;
            pending = text;
        } else {
            pending.append("\n").append(text);
        }
        if (open_triple_quotes(pending)) continue;
        auto words = Words(std::exchange(pending, {}), pending_line).split();
        if (words.empty()) continue;
        if (!words[0].starts_with('-')) refuse(pending_line, "Unknown directive: " + words[0]);
        directives.push_back({pending_line, std::move(words)});
    }
    if (!pending.empty()) refuse(pending_line, "Unterminated triple quotes");
    return directives;
}

} // namespace flux::submission
