// A member of an options struct that owns a resource: a string, a stop token.
#pragma once

#include <mortise/config.hpp>

#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mortise::inline v0 {

template <class T>
class field;

namespace detail {

template <class From, class T>
concept makes_field = !std::same_as<std::remove_cvref_t<From>, field<T>> && std::convertible_to<From, T>;

}  // namespace detail

// A member of an options struct. Use it like a T: read it, assign to it, initialize it in braces, as in {.label =
// "nightly"}.
//
// It is not a plain T because g++ 12 miscompiles braces inside a co_await expression, `co_await f({.label =
// "nightly"})`: it creates each member as a temporary, copies it into the struct byte by byte, and destroys both at the
// end of the expression, so that a std::string or std::stop_token is freed twice. A field remembers the address at
// which it was constructed. A bytewise copy finds itself elsewhere, so it only borrows from the original, which lives
// as long as the copy: it does not change or destroy what it borrowed. Other compilers make no such copy.
template <class T>
class field {
public:
    field() : value_() {}
    template <detail::makes_field<T> From>
    field(From&& from) : value_(std::forward<From>(from)) {}  // NOLINT(google-explicit-constructor)
    field(const field& other) : value_(other.value_) {}
    field(field&& other) : value_(other.take()) {}  // NOLINT(*-noexcept-move*): a copy of what is borrowed may throw
    ~field() {
        if (owns()) std::destroy_at(&value_);
    }

    field& operator=(const field& other) {
        assign(other.value_);
        return *this;
    }
    field& operator=(field&& other) {  // NOLINT(*-noexcept-move*)
        if (this != &other) assign(other.take());
        return *this;
    }
    template <detail::makes_field<T> From>
    field& operator=(From&& from) {
        assign(T(std::forward<From>(from)));
        return *this;
    }

    const T& value() const noexcept { return value_; }
    operator const T&() const noexcept { return value_; }  // NOLINT(google-explicit-constructor)
    operator std::string_view() const noexcept             // NOLINT(google-explicit-constructor)
        requires std::convertible_to<const T&, std::string_view> {
        return value_;
    }

    // Moves the value out. A borrowed value is copied.
    T take() { return owns() ? T(std::move(value_)) : T(value_); }

    // Only if T has them.
    bool empty() const noexcept { return value_.empty(); }
    bool stop_possible() const noexcept { return value_.stop_possible(); }
    bool stop_requested() const noexcept { return value_.stop_requested(); }
    const T& operator->() const noexcept { return value_; }
    explicit operator bool() const noexcept { return static_cast<bool>(value_); }

    template <std::same_as<field> Same>
    friend bool operator==(const field& one, const Same& other) {
        return one.value_ == other.value_;
    }
    friend bool operator==(const field& one,
                           std::string_view other) requires std::convertible_to<const T&, std::string_view> {
        return one.value_ == other;
    }

private:
    bool owns() const noexcept { return made_at_ == this; }

    template <class From>
    void assign(From&& from) {
        if (owns()) {
            value_ = std::forward<From>(from);
        } else {
            std::construct_at(&value_, std::forward<From>(from));
            made_at_ = this;
        }
    }

    union {
        T value_;
    };
    const field* made_at_ = this;
};

}  // namespace mortise::inline v0
