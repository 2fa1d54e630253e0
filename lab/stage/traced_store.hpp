// A store that tells what is asked of it.
#pragma once

#include "lab/stage/text.hpp"

#include <mortise/spi/store_wrapper.hpp>

#include <cstdint>
#include <functional>

namespace lab {

class traced_store final : public mortise::spi::store_wrapper {
public:
    struct listener {
        std::function<void(text)> asked;                   // a request and its answer
        std::function<void()> waits;                       // a claim stands in line
        std::function<void(std::uint64_t token)> granted;  // told before the caller knows; 0: there is none
        std::function<void(int)> requests;                 // so many more have no answer yet
    };
    traced_store(const mortise::spi::context& outer, const mortise::spi::store_factory& inner, listener told);

    void claim(const mortise::spi::claim_request&, mortise::spi::reply<mortise::spi::claim_answer>) override;
    void renew(std::span<const mortise::spi::renewal>,
               mortise::spi::reply<std::vector<mortise::spi::renewal_answer>>) override;
    void release(std::string_view name, const mortise::claim_id&,
                 mortise::spi::reply<mortise::spi::release_answer>) override;
    void granted(std::string_view name, const mortise::claim_id&, const mortise::spi::grant&) override;

private:
    const listener told_;
};

}  // namespace lab
