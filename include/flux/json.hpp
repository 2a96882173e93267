// JSON values over jansson, with ownership in the type:
//   JsonView  borrowed, read only; valid as long as whoever owns the value (often a Message)
//   JsonRef   borrowed, may change the value
//   Json      owns the whole tree; moves, never copies silently
//
// A tree has one owner and its parts are not counted: a Json that went into a Message is frozen there, may be read from
// several threads at once, and is copied (`copy()`) by whoever wants to own a part of it.
#pragma once

#include <flux/error.hpp>

#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

struct json_t;

namespace flux {

class Json;
class JsonRef;
class JsonView;

namespace detail {
template <class T> inline constexpr bool is_vector = false;
template <class T, class A> inline constexpr bool is_vector<std::vector<T, A>> = true;
/// A type with a JSON form of its own: it has a `json_name` for error texts and a function
/// `bool json_decode(JsonView, T&)` beside it that is false when the value is no T.
template <class T>
concept JsonDecodable = requires(JsonView view, T& out) {
    { T::json_name } -> std::convertible_to<const char*>;
    { json_decode(view, out) } -> std::same_as<bool>;
};
} // namespace detail

/// A borrowed JSON value, or nothing at all (`!view`: the key was absent).
class JsonView {
public:
    JsonView() = default;
    explicit JsonView(json_t* raw) noexcept : raw_(raw) {}

    /// False when there is no value (absent key); true for every value, JSON null included.
    explicit operator bool() const noexcept { return raw_ != nullptr; }
    json_t* raw() const noexcept { return raw_; }

    bool is_object() const noexcept;
    bool is_array() const noexcept;
    bool is_string() const noexcept;
    bool is_integer() const noexcept;
    bool is_real() const noexcept;
    bool is_number() const noexcept { return is_integer() || is_real(); }
    bool is_bool() const noexcept;
    /// JSON null (an absent value is not null).
    bool is_null() const noexcept;
    /// `object`, `array`, `string`, `integer`, `real`, `boolean`, `null`, `nothing`.
    const char* type_name() const noexcept;

    /// The value as a T: bool, an integer type, double, std::string, std::string_view, JsonView, a type with
    /// a JSON form of its own (JobId, Idset, Hostlist), or a vector of these.
    /// A double may be read from an integer; nothing else converts.
    /// \throws Error EPROTO `expected integer, got string`, also when an integer does not fit.
    template <class T> T as() const;
    /// The value as a T, or nothing when it is absent or of another type.
    template <class T> std::optional<T> try_as() const noexcept;

    /// Member of an object; nothing when absent or when this is no object.
    JsonView operator[](std::string_view key) const noexcept;
    /// Element of an array; nothing when out of range or when this is no array.
    JsonView operator[](std::size_t index) const noexcept;
    /// Member at a path of keys joined by dots: `find("attributes.system.duration")`; nothing when absent.
    JsonView find(std::string_view dotted) const noexcept;
    bool contains(std::string_view key) const noexcept { return static_cast<bool>((*this)[key]); }

    /// Required member. \throws Error EPROTO naming the key when it is absent or of another type.
    template <class T> T get(std::string_view key) const;
    /// Optional member: absent gives `fallback`, another type throws EPROTO.
    template <class T> T get_or(std::string_view key, T fallback) const;
    /// Optional member; absent or JSON null gives nothing, another type throws EPROTO.
    template <class T> std::optional<T> get_optional(std::string_view key) const;

    /// Number of members or elements; 0 for other types.
    std::size_t size() const noexcept;
    bool empty() const noexcept { return size() == 0; }

    class ElementIterator;
    class MemberIterator;
    template <class I> struct Range {
        I first, last;
        I begin() const { return first; }
        I end() const { return last; }
    };
    /// Elements of an array as JsonView; empty for other types.
    Range<ElementIterator> elements() const noexcept;
    /// Members of an object as pair<string_view, JsonView> in insertion order; empty for other types.
    /// The object must not change while iterating.
    Range<MemberIterator> members() const noexcept;

    /// Compact text; members in insertion order. Strings may contain any UTF-8; `/` is not escaped.
    std::string dump() const;
    /// Text with members sorted by key, compact: the form that is hashed and compared.
    std::string dump_sorted() const;
    /// Text indented by `width` columns.
    std::string dump_indented(unsigned width = 2) const;

    /// A deep copy that the caller owns. Nothing gives JSON null.
    Json copy() const;
    bool equals(JsonView other) const noexcept;

protected:
    json_t* raw_ = nullptr;
};

class JsonView::ElementIterator {
public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = JsonView;
    using difference_type = std::ptrdiff_t;
    ElementIterator() = default;
    ElementIterator(JsonView array, std::size_t index) : array_(array), index_(index) {}
    JsonView operator*() const noexcept { return array_[index_]; }
    ElementIterator& operator++() noexcept { return ++index_, *this; }
    ElementIterator operator++(int) noexcept { return ElementIterator(array_, index_++); }
    bool operator==(const ElementIterator& other) const noexcept { return index_ == other.index_; }

private:
    JsonView array_;
    std::size_t index_ = 0;
};

class JsonView::MemberIterator {
public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::pair<std::string_view, JsonView>;
    using difference_type = std::ptrdiff_t;
    MemberIterator() = default;
    MemberIterator(json_t* object, void* position) : object_(object), position_(position) {}
    value_type operator*() const noexcept;
    MemberIterator& operator++() noexcept;
    MemberIterator operator++(int) noexcept {
        auto old = *this;
        ++*this;
        return old;
    }
    bool operator==(const MemberIterator& other) const noexcept { return position_ == other.position_; }

private:
    json_t* object_ = nullptr;
    void* position_ = nullptr;
};

/// A borrowed JSON value that may be changed.
class JsonRef : public JsonView {
public:
    JsonRef() = default;
    explicit JsonRef(json_t* raw) noexcept : JsonView(raw) {}

    JsonRef operator[](std::string_view key) const noexcept { return JsonRef(JsonView::operator[](key).raw()); }
    JsonRef operator[](std::size_t index) const noexcept { return JsonRef(JsonView::operator[](index).raw()); }

    /// Put a member (replacing one). \throws Error EINVAL when this is no object.
    void set(std::string_view key, Json value) const;
    /// The member, made as an empty object when absent.
    JsonRef object_at(std::string_view key) const;
    /// The member, made as an empty array when absent.
    JsonRef array_at(std::string_view key) const;
    /// Put a value at a path of keys joined by dots, making the objects on the way.
    /// \throws Error EINVAL when something on the way is no object.
    void set_path(std::string_view dotted, Json value) const;
    /// Drop a member; false when it was absent.
    bool erase(std::string_view key) const noexcept;
    /// Add an element. \throws Error EINVAL when this is no array.
    void append(Json value) const;
    void clear() const noexcept;
    /// Set every member of `other` (copied), replacing equal keys.
    void update(JsonView other) const;
};

/// A JSON value that owns its tree.
class Json : public JsonRef {
public:
    /// JSON null.
    Json();
    Json(std::nullptr_t) : Json() {}
    Json(bool value);
    Json(std::integral auto value) : Json(integer(static_cast<std::int64_t>(value))) {}
    Json(double value);
    /// A string. \throws Error EINVAL when it is not UTF-8.
    Json(std::string_view value);
    Json(const char* value) : Json(std::string_view(value)) {}
    Json(const std::string& value) : Json(std::string_view(value)) {}
    /// A deep copy of a borrowed value, so that views can be put into literals.
    Json(JsonView value);
    Json(JsonRef value) : Json(JsonView(value)) {}
    template <class T> Json(const std::vector<T>& values) : Json(array()) {
        for (const auto& value : values) append(Json(value));
    }
    Json(Json&& other) noexcept : JsonRef(std::exchange(other.raw_, nullptr)) {}
    Json(const Json&) = delete;
    Json& operator=(Json&& other) noexcept;
    ~Json();

    /// Take over one reference of a jansson value that nobody else holds.
    static Json adopt(json_t* raw) noexcept {
        Json value(Raw{});
        value.raw_ = raw;
        return value;
    }
    json_t* release() noexcept { return std::exchange(raw_, nullptr); }

    // A loop over the parts of a temporary would outlive them.
    auto elements() const& noexcept { return JsonView::elements(); }
    auto members() const& noexcept { return JsonView::members(); }
    void elements() const&& = delete;
    void members() const&& = delete;

    static Json object() { return adopt(new_object()); }
    static Json array() { return adopt(new_array()); }
    /// `Json::object("id", 7, "name", "x")`
    template <class V, class... More> static Json object(std::string_view key, V&& value, More&&... more) {
        auto result = object();
        result.put(key, std::forward<V>(value), std::forward<More>(more)...);
        return result;
    }
    /// `Json::array_of(1, "two", 3.0)`
    template <class... V> static Json array_of(V&&... values) {
        auto result = array();
        (result.append(Json(std::forward<V>(values))), ...);
        return result;
    }
    /// Parse one JSON value of any type. Bounded in depth by jansson (2048).
    /// \throws Error EPROTO with position and reason; `what` names the source in the text.
    static Json parse(std::string_view text, std::string_view what = "JSON");

private:
    struct Raw {};
    explicit Json(Raw) noexcept {}
    static Json integer(std::int64_t value);
    static json_t* new_object();
    static json_t* new_array();
    template <class V, class... More> void put(std::string_view key, V&& value, More&&... more) {
        set(key, Json(std::forward<V>(value)));
        if constexpr (sizeof...(more) > 0) put(std::forward<More>(more)...);
    }
};

namespace detail {
/// Readers behind as<T>/try_as<T>; false when the type differs.
bool json_read(JsonView, bool&) noexcept;
bool json_read(JsonView, std::int64_t&) noexcept;
bool json_read(JsonView, double&) noexcept;
bool json_read(JsonView, std::string_view&) noexcept;
[[noreturn]] void json_type_error(JsonView, const char* expected);
[[noreturn]] void json_key_error(std::string_view key, JsonView found, const std::string& why);

template <class T> constexpr const char* json_expected() {
    if constexpr (JsonDecodable<T>)
        return T::json_name;
    else if constexpr (std::is_same_v<T, bool>)
        return "boolean";
    else if constexpr (std::is_integral_v<T>)
        return "integer in range";
    else if constexpr (std::is_floating_point_v<T>)
        return "number";
    else if constexpr (is_vector<T>)
        return "array";
    else if constexpr (std::is_base_of_v<JsonView, T>)
        return "value";
    else
        return "string";
}

template <class T> bool json_convert(JsonView view, T& out) {
    if constexpr (std::is_same_v<T, JsonView>) {
        out = view;
        return static_cast<bool>(view);
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, std::string_view>) {
        return json_read(view, out);
    } else if constexpr (std::is_same_v<T, std::string>) {
        std::string_view text;
        if (!json_read(view, text)) return false;
        out = text;
        return true;
    } else if constexpr (std::is_integral_v<T>) {
        std::int64_t value;
        if (!json_read(view, value) || !std::in_range<T>(value)) return false;
        out = static_cast<T>(value);
        return true;
    } else if constexpr (JsonDecodable<T>) {
        return json_decode(view, out);
    } else {
        static_assert(is_vector<T>, "no JSON conversion for this type");
        if (!view.is_array()) return false;
        out.reserve(view.size());
        for (auto element : view.elements()) {
            typename T::value_type value{};
            if (!json_convert(element, value)) return false;
            out.push_back(std::move(value));
        }
        return true;
    }
}
} // namespace detail

template <class T> T JsonView::as() const {
    T value{};
    if (!detail::json_convert(*this, value)) detail::json_type_error(*this, detail::json_expected<T>());
    return value;
}

template <class T> std::optional<T> JsonView::try_as() const noexcept {
    T value{};
    if (!detail::json_convert(*this, value)) return std::nullopt;
    return value;
}

template <class T> T JsonView::get(std::string_view key) const {
    auto member = (*this)[key];
    T value{};
    if (!detail::json_convert(member, value)) detail::json_key_error(key, member, detail::json_expected<T>());
    return value;
}

template <class T> T JsonView::get_or(std::string_view key, T fallback) const {
    auto member = (*this)[key];
    if (!member) return fallback;
    return get<T>(key);
}

template <class T> std::optional<T> JsonView::get_optional(std::string_view key) const {
    auto member = (*this)[key];
    if (!member || member.is_null()) return std::nullopt;
    return get<T>(key);
}

} // namespace flux
