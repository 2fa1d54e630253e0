// Keeps our descriptors away from standard input, output and error.
#pragma once

#include <mortise/config.hpp>

#include <array>

namespace mortise::inline v0::base {

// A program may run with standard input, output or error closed. A descriptor that is opened then gets one of their
// numbers, and what the program prints would go to our socket or file. While this object lives the three numbers are in
// use, so that our descriptors get others.
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
