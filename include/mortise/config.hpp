// What every public header needs before its first declaration.
#pragma once

#define MORTISE_VERSION_MAJOR 0
#define MORTISE_VERSION_MINOR 1
#define MORTISE_VERSION_PATCH 0
#define MORTISE_VERSION "0.1.0"

// Everything is hidden but what carries this mark; a shared build exports exactly that.
#define MORTISE_API __attribute__((visibility("default")))

// All names live in mortise::inline v0. There is no ABI promise before 1.0; the inline namespace keeps two versions from
// meeting by accident.
