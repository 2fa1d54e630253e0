// What every public header needs before its first declaration.
#pragma once

// A missing file ends the compilation at once. After an #error the compiler would go on, and this line would be the first of
// hundreds.
#if __cplusplus < 202002L
#include "Mortise needs C++20: compile with -std=c++20"
#endif

#define MORTISE_VERSION_MAJOR 0
#define MORTISE_VERSION_MINOR 1
#define MORTISE_VERSION_PATCH 0
#define MORTISE_VERSION "0.1.0"

// Everything is hidden but what carries this mark; a shared build exports exactly that.
#define MORTISE_API __attribute__((visibility("default")))

// All names live in mortise::inline v0. There is no ABI promise before 1.0; the inline namespace keeps two versions from
// meeting by accident.
