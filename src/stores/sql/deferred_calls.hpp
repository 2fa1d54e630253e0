// Calls that are made once no mutex is held.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <utility>
#include <vector>

namespace mortise::inline v0::stores::sql {

// To be declared before the mutex is locked: the destructor makes the calls, in order.
class deferred_calls {
public:
    template <class Call>
    void operator()(Call&& call) {
        calls_.emplace_back(std::forward<Call>(call));
    }
    ~deferred_calls() {
        for (auto& call : calls_) call();
    }

private:
    std::vector<spi::task> calls_;
};

}  // namespace mortise::inline v0::stores::sql
