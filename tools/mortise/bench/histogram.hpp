// Counts of durations, in classes that widen with the duration: each is 3 % wide, from 1 ns to half an hour.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace bench {

// Holds nothing but numbers, so that processes can share it; one of zeros is empty.
class histogram {
public:
    void add(std::int64_t nanoseconds) noexcept { ++classes_[class_of(nanoseconds)]; }
    void add(const histogram& other) noexcept {
        for (std::size_t i = 0; i < classes_.size(); ++i) classes_[i] += other.classes_[i];
    }

    std::uint64_t count() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint32_t each : classes_) all += each;
        return all;
    }

    // The middle of the class where that share of all, 0 to 1, is reached; 0 if nothing was counted.
    double percentile(double share) const noexcept {
        const std::uint64_t all = count();
        if (all == 0) return 0;
        const auto rank =
            std::max<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all) - 1e-9)), 1);
        std::uint64_t seen = 0;
        std::size_t at = 0;
        while ((seen += classes_[at]) < rank && at + 1 < classes_.size()) ++at;
        return middle_of(at);
    }

private:
    static constexpr std::size_t per_octave = 32;
    static constexpr std::size_t octaves = 36;

    static std::size_t class_of(std::int64_t nanoseconds) noexcept {
        const std::uint64_t value = nanoseconds > 0 ? static_cast<std::uint64_t>(nanoseconds) : 0;
        if (value < per_octave) return value;
        const auto octave = static_cast<std::size_t>(std::bit_width(value / per_octave)) - 1;
        return std::min(octave * per_octave + (value >> octave), octaves * per_octave - 1);
    }
    static double middle_of(std::size_t at) noexcept {
        if (at < 2 * per_octave) return static_cast<double>(at);
        const std::size_t octave = at / per_octave - 1;
        const std::uint64_t first = std::uint64_t{at - octave * per_octave} << octave;
        return static_cast<double>(first) + static_cast<double>((std::uint64_t{1} << octave) - 1) / 2;
    }

    std::array<std::uint32_t, octaves * per_octave> classes_;
};

}  // namespace bench
