// Random numbers that follow from a seed, the same with every library and compiler.
#pragma once

#include <mortise/spi/store.hpp>

#include <cstdint>

namespace mortise::simulation {

class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) {}

    std::uint64_t next() {  // splitmix64
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    unsigned below(unsigned n) { return static_cast<unsigned>(next() % n); }
    bool one_in(unsigned n) { return below(n) == 0; }
    bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }
    spi::duration between(spi::duration least, spi::duration most) {
        return least + spi::duration{
                           static_cast<std::int64_t>(next() % static_cast<std::uint64_t>((most - least).count() + 1))};
    }

private:
    std::uint64_t state_;
};

}  // namespace mortise::simulation
