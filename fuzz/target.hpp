// What a target of the fuzzers is: one function, that does its worst with some bytes.
//
// A target is one file, NAME_target.cpp, which defines mortise::fuzzing::NAME::run(std::string_view). It must not crash, hang or break
// an expectation, whatever the bytes are. With libFuzzer (make fuzz) the bytes are made up, and each target is a program; in the
// tests they are those of fuzz/corpus/NAME, and one program has all targets.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace mortise::fuzzing {

inline void expect(bool holds, const char* else_what) {
    if (holds) return;
    std::fprintf(stderr, "expectation broken: %s\n", else_what);
    std::abort();
}

}  // namespace mortise::fuzzing
