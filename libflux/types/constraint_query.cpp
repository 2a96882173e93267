#include <flux/constraint_query.hpp>

#include <cctype>
#include <cerrno>
#include <optional>
#include <vector>

namespace flux {
namespace {

enum class Kind { term, open, close, negate, conjunction, disjunction, inversion, end };

struct Token {
    Kind kind;
    std::string text;
    std::size_t position;
};

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, text); }

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_quote(char c) { return c == '\'' || c == '"'; }
bool ends_word(char c) { return is_space(c) || is_quote(c) || c == '(' || c == ')' || c == '&' || c == '|'; }

class Lexer {
public:
    explicit Lexer(std::string_view query) : query_(query) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        do tokens.push_back(next());
        while (tokens.back().kind != Kind::end);
        return tokens;
    }

private:
    char at(std::size_t position) const { return position < query_.size() ? query_[position] : '\0'; }

    Token next() {
        while (at_ < query_.size() && is_space(query_[at_])) ++at_;
        auto start = at_;
        if (at_ == query_.size()) return {Kind::end, {}, start};
        char c = query_[at_];
        if (c == '(' || c == ')') return ++at_, Token{c == '(' ? Kind::open : Kind::close, std::string(1, c), start};
        if (c == '&' || c == '|') {
            at_ += at(at_ + 1) == c ? 2 : 1;
            return {c == '&' ? Kind::conjunction : Kind::disjunction, std::string(query_.substr(start, at_ - start)),
                    start};
        }
        if (c == '-') return ++at_, Token{Kind::negate, "-", start};
        if (is_quote(c)) return {Kind::term, quoted(), start};
        return word(start);
    }

    Token word(std::size_t start) {
        while (at_ < query_.size() && !ends_word(query_[at_])) ++at_;
        std::string text(query_.substr(start, at_ - start));
        if (text == "and") return {Kind::conjunction, text, start};
        if (text == "or") return {Kind::disjunction, text, start};
        if (text == "not") return {Kind::inversion, text, start};
        if (text.back() == ':') {
            if (!is_quote(at(at_))) fail("Missing argument to token '" + text + "'");
            text += quoted();
        }
        return {Kind::term, text, start};
    }

    std::string quoted() {
        auto start = at_;
        auto close = query_.find(query_[at_], at_ + 1);
        if (close == std::string_view::npos) fail("Unclosed quote in position " + std::to_string(start));
        at_ = close + 1;
        return std::string(query_.substr(start + 1, close - start - 1));
    }

    std::string_view query_;
    std::size_t at_ = 0;
};

// Recursive descent; the depth is bounded, because a query may come from a stranger.
class Parser {
public:
    Parser(std::string_view query, const ConstraintQueryRules& rules)
        : query_(query), rules_(rules), tokens_(Lexer(query).run()) {}

    Json run() {
        if (peek().kind == Kind::end) return Json::object();
        auto result = disjunction();
        if (peek().kind == Kind::close)
            fail("Mismatched parentheses starting at position " + std::to_string(peek().position) + ".");
        if (peek().kind != Kind::end) unexpected();
        return result;
    }

private:
    static constexpr unsigned max_depth = 200;

    const Token& peek() const { return tokens_[at_]; }

    [[noreturn]] void unexpected() const {
        if (peek().kind != Kind::end)
            fail("Invalid token '" + peek().text + "' at position " + std::to_string(peek().position));
        if (!open_.empty()) fail("Unclosed parenthesis in position " + std::to_string(open_.back()));
        fail("Unexpected end of input in '" + std::string(query_) + "'");
    }

    bool accept(Kind kind) {
        if (peek().kind != kind) return false;
        ++at_;
        return true;
    }

    Json disjunction() {
        auto left = conjunction();
        while (accept(Kind::disjunction)) left = join("or", std::move(left), conjunction());
        return left;
    }

    Json conjunction() {
        auto left = inversion();
        for (;;) {
            bool joined = accept(Kind::conjunction);
            auto kind = peek().kind;
            bool starts_operand =
                kind == Kind::term || kind == Kind::open || kind == Kind::negate || kind == Kind::inversion;
            if (!joined && !starts_operand) return left;
            left = join("and", std::move(left), inversion());
        }
    }

    Json inversion() {
        if (++depth_ > max_depth) fail("query is nested too deeply");
        auto result = accept(Kind::inversion) ? Json::object("not", Json::array_of(inversion())) : primary();
        --depth_;
        return result;
    }

    Json primary() {
        if (accept(Kind::negate)) {
            if (peek().kind != Kind::term) unexpected();
            return Json::object("not", Json::array_of(term()));
        }
        if (peek().kind == Kind::term) return term();
        if (peek().kind != Kind::open) unexpected();
        open_.push_back(peek().position);
        ++at_;
        auto inner = disjunction();
        if (!accept(Kind::close)) unexpected();
        open_.pop_back();
        return inner;
    }

    // `a and b and c` is one array, and neighbouring terms of a combining operator are one term.
    Json join(const char* op, Json left, Json right) const {
        if (std::string_view(op) == "and") {
            JsonRef last = left["and"] ? left["and"][left["and"].size() - 1] : JsonRef(left);
            if (combined(last, right)) return left;
        }
        if (left[op]) {
            left[op].append(std::move(right));
            return left;
        }
        return Json::object(op, Json::array_of(std::move(left), std::move(right)));
    }

    bool combined(JsonRef left, JsonView right) const {
        for (const auto& op : rules_.combine) {
            if (!left[op] || !right[op]) continue;
            for (auto value : right[op].elements()) left[op].append(value.copy());
            return true;
        }
        return false;
    }

    Json term() {
        std::string_view text = tokens_[at_++].text;
        std::string op = rules_.default_operator;
        if (auto colon = text.find(':'); colon != std::string_view::npos) {
            op = operator_name(text.substr(0, colon + 1));
            text.remove_prefix(colon + 1);
        } else if (op.empty()) {
            fail("Missing required operator in \"" + std::string(text) + "\"");
        }
        auto values = Json::array();
        if (auto split = rules_.split.find(op); split != rules_.split.end()) {
            for (auto cut = text.find(split->second); cut != std::string_view::npos; cut = text.find(split->second)) {
                values.append(text.substr(0, cut));
                text.remove_prefix(cut + 1);
            }
        }
        values.append(text);
        return Json::object(op, std::move(values));
    }

    std::string operator_name(std::string_view with_colon) const {
        auto name = with_colon.substr(0, with_colon.size() - 1);
        for (char c : name)
            if (!std::isalnum(static_cast<unsigned char>(c)) &&
                std::string_view("_.+@-").find(c) == std::string_view::npos)
                fail(std::string("invalid character '") + c + "' in operator '" + std::string(with_colon) + "'");
        auto alias = rules_.aliases.find(name);
        return alias == rules_.aliases.end() ? std::string(name) : alias->second;
    }

    std::string_view query_;
    const ConstraintQueryRules& rules_;
    std::vector<Token> tokens_;
    std::vector<std::size_t> open_;
    std::size_t at_ = 0;
    unsigned depth_ = 0;
};

} // namespace

const ConstraintQueryRules& ConstraintQueryRules::for_resources() {
    static const ConstraintQueryRules rules{
        "properties",
        {{"host", "hostlist"}, {"hosts", "hostlist"}, {"rank", "ranks"}},
        {{"properties", ','}},
        {"properties"},
    };
    return rules;
}

Json parse_constraint_query(std::string_view query, const ConstraintQueryRules& rules) {
    return Parser(query, rules).run();
}

} // namespace flux
