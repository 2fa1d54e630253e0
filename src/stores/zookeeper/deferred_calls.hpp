// Calls that are made once no lock of the store's is held.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <utility>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// To be declared before the lock is taken: the destructor makes the calls, in order.
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

}  // namespace mortise::inline v0::stores::zookeeper
