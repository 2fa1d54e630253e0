// Descriptors of ours stay out of the way of the program's own.
#pragma once

#include <mortise/config.hpp>

#include <array>

namespace mortise::inline v0::base {

// A program may run with standard input, output or error closed. What is opened then gets their numbers, and what the program
// prints would land in our files. While this lives the numbers are taken, so whatever we open gets others.
class standard_descriptors_taken {
public:
    standard_descriptors_taken() noexcept;
    ~standard_descriptors_taken();
    standard_descriptors_taken(const standard_descriptors_taken&) = delete;
    standard_descriptors_taken& operator=(const standard_descriptors_taken&) = delete;

private:
    std::array<bool, 3> ours_{};
};

}  // namespace mortise::inline v0::base
