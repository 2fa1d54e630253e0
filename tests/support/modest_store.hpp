// A store that promises less than the one behind it.
#pragma once

#include <mortise/promises.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace mortise::testing {

class modest_store final : public spi::store_wrapper {
public:
    using change = std::function<void(mortise::promises&)>;

    modest_store(const spi::context& outer, const spi::store_factory& inner, const change& make_less)
        : store_wrapper(outer, inner), less_(store_wrapper::promises()) {
        less_.store = "modest";
        make_less(less_);
    }
    const mortise::promises& promises() const noexcept override { return less_; }

private:
    mortise::promises less_;
};

inline spi::store_factory modest(spi::store_factory inner, modest_store::change make_less) {
    return [inner = std::move(inner), make_less = std::move(make_less)](const spi::context& outer) {
        return std::make_unique<modest_store>(outer, inner, make_less);
    };
}

}  // namespace mortise::testing
