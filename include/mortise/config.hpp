// Version and visibility, included by every public header.
#pragma once

// A missing include file stops the compilation. After an #error the compiler would continue and print hundreds of
// errors.
#if __cplusplus < 202002L
#include "Mortise needs C++20: compile with -std=c++20"
#endif

#define MORTISE_VERSION_MAJOR 0
#define MORTISE_VERSION_MINOR 1
#define MORTISE_VERSION_PATCH 0
#define MORTISE_VERSION "0.1.0"

// Symbols are hidden unless marked with this. A shared library exports exactly the marked ones.
#define MORTISE_API __attribute__((visibility("default")))

// All names are in mortise::inline v0. The ABI is not stable before 1.0; the inline namespace prevents accidental
// linking of two versions.
