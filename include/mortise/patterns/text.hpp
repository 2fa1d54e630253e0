// How values become bytes.
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace mortise::inline v0 {

// Strings and integers as they are. For a type of your own, specialise it, or give the pattern a class with the same two
// functions.
template <class T>
struct text;

template <>
struct text<std::string> {
    static std::string write(const std::string& value) { return value; }
    static std::string read(std::string_view bytes) { return std::string(bytes); }
};

template <std::integral T>
struct text<T> {
    static std::string write(T value) { return std::to_string(value); }
    static T read(std::string_view bytes) {
        using number = std::conditional_t<std::same_as<T, bool>, int, T>;
        number value{};
        const auto [end, failed] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
        if (failed != std::errc{} || end != bytes.data() + bytes.size())
            throw error(errc::invalid_option,
                        "the storage has '" + std::string(bytes.substr(0, 60)) + "', which is not a number");
        return static_cast<T>(value);
    }
};

}  // namespace mortise::inline v0
