#include "libflux/base/json_text.hpp"

#include <flux/json.hpp>

#include <jansson.h>

#include <cerrno>
#include <cstdlib>

namespace flux {
namespace {

json_t* checked(json_t* raw) {
    if (!raw) throw std::bad_alloc();
    return raw;
}

std::string compact(const json_t* raw, bool sort_keys) {
    std::string text;
    if (raw)
        detail::append_json(text, raw, sort_keys);
    else
        text = "null";
    return text;
}

} // namespace

bool JsonView::is_object() const noexcept { return json_is_object(raw_); }
bool JsonView::is_array() const noexcept { return json_is_array(raw_); }
bool JsonView::is_string() const noexcept { return json_is_string(raw_); }
bool JsonView::is_integer() const noexcept { return json_is_integer(raw_); }
bool JsonView::is_real() const noexcept { return json_is_real(raw_); }
bool JsonView::is_bool() const noexcept { return json_is_boolean(raw_); }
bool JsonView::is_null() const noexcept { return json_is_null(raw_); }

const char* JsonView::type_name() const noexcept {
    if (!raw_) return "nothing";
    switch (json_typeof(raw_)) {
    case JSON_OBJECT: return "object";
    case JSON_ARRAY: return "array";
    case JSON_STRING: return "string";
    case JSON_INTEGER: return "integer";
    case JSON_REAL: return "real";
    case JSON_TRUE:
    case JSON_FALSE: return "boolean";
    case JSON_NULL: return "null";
    }
    return "nothing";
}

JsonView JsonView::operator[](std::string_view key) const noexcept {
    return JsonView(json_object_getn(raw_, key.data(), key.size()));
}

JsonView JsonView::operator[](std::size_t index) const noexcept { return JsonView(json_array_get(raw_, index)); }

JsonView JsonView::find(std::string_view dotted) const noexcept {
    JsonView at = *this;
    while (at) {
        auto dot = dotted.find('.');
        at = at[dotted.substr(0, dot)];
        if (dot == std::string_view::npos) break;
        dotted.remove_prefix(dot + 1);
    }
    return at;
}

std::size_t JsonView::size() const noexcept { return is_array() ? json_array_size(raw_) : json_object_size(raw_); }

JsonView::Range<JsonView::ElementIterator> JsonView::elements() const noexcept {
    return {ElementIterator(*this, 0), ElementIterator(*this, is_array() ? size() : 0)};
}

JsonView::Range<JsonView::MemberIterator> JsonView::members() const noexcept {
    return {MemberIterator(raw_, json_object_iter(raw_)), MemberIterator(raw_, nullptr)};
}

JsonView::MemberIterator::value_type JsonView::MemberIterator::operator*() const noexcept {
    return {std::string_view(json_object_iter_key(position_), json_object_iter_key_len(position_)),
            JsonView(json_object_iter_value(position_))};
}

JsonView::MemberIterator& JsonView::MemberIterator::operator++() noexcept {
    position_ = json_object_iter_next(object_, position_);
    return *this;
}

std::string JsonView::dump() const { return compact(raw_, false); }
std::string JsonView::dump_sorted() const { return compact(raw_, true); }
std::string JsonView::dump_indented(unsigned width) const { return detail::indent_json(compact(raw_, false), width); }

Json JsonView::copy() const { return raw_ ? Json::adopt(checked(json_deep_copy(raw_))) : Json(); }
bool JsonView::equals(JsonView other) const noexcept { return raw_ == other.raw_ || json_equal(raw_, other.raw_); }

void JsonRef::set(std::string_view key, Json value) const {
    if (json_object_setn_new(raw_, key.data(), key.size(), value.release()) < 0)
        throw Error(EINVAL, "JSON member '" + std::string(key) + "' cannot be set in " + type_name());
}

JsonRef JsonRef::object_at(std::string_view key) const {
    if (!contains(key)) set(key, Json::object());
    return (*this)[key];
}

JsonRef JsonRef::array_at(std::string_view key) const {
    if (!contains(key)) set(key, Json::array());
    return (*this)[key];
}

void JsonRef::set_path(std::string_view dotted, Json value) const {
    JsonRef at = *this;
    for (auto dot = dotted.find('.'); dot != std::string_view::npos; dot = dotted.find('.')) {
        at = at.object_at(dotted.substr(0, dot));
        dotted.remove_prefix(dot + 1);
    }
    at.set(dotted, std::move(value));
}

bool JsonRef::erase(std::string_view key) const noexcept { return json_object_deln(raw_, key.data(), key.size()) == 0; }

void JsonRef::append(Json value) const {
    if (json_array_append_new(raw_, value.release()) < 0)
        throw Error(EINVAL, std::string("JSON element cannot be added to ") + type_name());
}

void JsonRef::clear() const noexcept {
    json_object_clear(raw_);
    json_array_clear(raw_);
}

void JsonRef::update(JsonView other) const {
    for (auto [key, value] : other.members()) set(key, value.copy());
}

Json::Json() : JsonRef(json_null()) {}
Json::Json(bool value) : JsonRef(json_boolean(value)) {}
Json::Json(double value) : JsonRef(json_real(value)) {
    if (!raw_) throw Error(EINVAL, "JSON has no form for a number that is not finite");
}
// A default-made view has no data, which jansson takes for an error.
Json::Json(std::string_view value) : JsonRef(json_stringn(value.empty() ? "" : value.data(), value.size())) {
    if (!raw_) throw Error(EINVAL, "string is not valid UTF-8");
}
Json::Json(JsonView value) : Json(value.copy()) {}
Json Json::integer(std::int64_t value) { return adopt(checked(json_integer(value))); }
json_t* Json::new_object() { return checked(json_object()); }
json_t* Json::new_array() { return checked(json_array()); }

Json& Json::operator=(Json&& other) noexcept {
    if (this != &other) {
        json_decref(raw_);
        raw_ = std::exchange(other.raw_, nullptr);
    }
    return *this;
}

Json::~Json() { json_decref(raw_); }

Json Json::parse(std::string_view text, std::string_view what) {
    if (auto* plain = detail::parse_plain_json(text)) return adopt(plain);
    json_error_t error;
    json_t* raw = json_loadb(text.data(), text.size(), JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!raw)
        throw Error(EPROTO, std::string(what) + ": line " + std::to_string(error.line) + ", column " +
                                std::to_string(error.column) + ": " + error.text);
    return adopt(raw);
}

namespace detail {

bool json_read(JsonView view, bool& out) noexcept {
    out = json_is_true(view.raw());
    return view.is_bool();
}

bool json_read(JsonView view, std::int64_t& out) noexcept {
    out = json_integer_value(view.raw());
    return view.is_integer();
}

bool json_read(JsonView view, double& out) noexcept {
    out = json_number_value(view.raw());
    return view.is_number();
}

bool json_read(JsonView view, std::string_view& out) noexcept {
    if (!view.is_string()) return false;
    out = std::string_view(json_string_value(view.raw()), json_string_length(view.raw()));
    return true;
}

void json_type_error(JsonView found, const char* expected) {
    throw Error(EPROTO, std::string("expected ") + expected + ", got " + found.type_name());
}

void json_key_error(std::string_view key, JsonView found, const std::string& expected) {
    if (!found) throw Error(EPROTO, "required key '" + std::string(key) + "' is missing");
    throw Error(EPROTO, "key '" + std::string(key) + "': expected " + expected + ", got " + found.type_name());
}

} // namespace detail
} // namespace flux
