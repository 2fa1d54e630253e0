// std::format for every type with a to_string, if the standard library has <format> (g++ 13, clang 17, or newer).
// Width, fill and precision work as for strings: std::format("{:>20}", hold.token()).
#pragma once

#include <mortise/attempt.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/finding.hpp>
#include <mortise/hold.hpp>
#include <mortise/holder.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/observer.hpp>
#include <mortise/token.hpp>

#include <version>

#ifdef __cpp_lib_format
#include <concepts>
#include <format>
#include <string_view>

namespace mortise::inline v0 {

namespace detail {

template <class T, class... Others>
concept one_of = (std::same_as<T, Others> || ...);

template <class T>
concept has_text =
    one_of<T, token, errc, release_result, event_kind, finding::grade, hold, holder, refusal, attempt, multi_attempt>;

}  // namespace detail

}  // namespace mortise::inline v0

template <mortise::detail::has_text T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
    template <class Context>
    auto format(const T& it, Context& context) const {
        const auto text = to_string(it);
        return std::formatter<std::string_view, char>::format(text, context);
    }
};
#endif
