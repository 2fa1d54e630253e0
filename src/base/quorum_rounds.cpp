#include "base/quorum_rounds.hpp"

#include <utility>
#include <vector>

namespace mortise::inline v0::base {

void quorum_rounds::begin(const std::shared_ptr<quorum_round>& round, spi::time_point deadline) {
    round->place = open_.emplace(deadline, round);
}

void quorum_rounds::end(quorum_round& round) {
    if (round.place) open_.erase(*std::exchange(round.place, std::nullopt));
}

void quorum_rounds::watch() {
    spi::time_point next;
    std::weak_ptr<int> alive;
    {
        std::scoped_lock guard{mutex_};
        if (open_.empty() || (next_look_ && *next_look_ <= open_.begin()->first)) return;
        next = open_.begin()->first;
        next_look_ = next;
        alive = alive_;
    }
    clock_.at(next, [this, alive] {
        if (alive.lock()) expire();
    });
}

void quorum_rounds::expire() {
    std::vector<spi::task> todo;
    {
        std::scoped_lock guard{mutex_};
        const spi::time_point now = clock_.now();
        if (next_look_ && *next_look_ <= now) next_look_.reset();
        while (!open_.empty() && open_.begin()->first <= now) {
            const std::shared_ptr<quorum_round> round = open_.begin()->second;
            todo.push_back(round->expire(now));
        }
    }
    for (spi::task& one : todo) one();
    watch();
}

quorum_round::by_deadline quorum_rounds::close() {
    alive_.reset();
    return std::exchange(open_, {});
}

}  // namespace mortise::inline v0::base
