// Whether a sanitizer watches. g++ says so by a macro, clang by a feature.
#pragma once

namespace mortise::testing {

#if defined(__has_feature)
inline constexpr bool under_asan = __has_feature(address_sanitizer);
inline constexpr bool under_tsan = __has_feature(thread_sanitizer);
#else
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool under_asan = true;
#else
inline constexpr bool under_asan = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif
#endif

}  // namespace mortise::testing
