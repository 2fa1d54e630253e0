#include "base/quorum_reader.hpp"

#include <utility>

namespace mortise::inline v0::base {
namespace {

// The sleeper that this thread reads for.
thread_local const spi::sleeper* quorum_read_for = nullptr;

}  // namespace

quorum_reader::quorum_reader(std::vector<spi::store*> nodes, std::function<bool()> calm)
    : nodes_(std::move(nodes)), calm_(std::move(calm)), sources_(nodes_.size() + 1) {}

void quorum_reader::will_sleep(bool whether) noexcept {
    for (spi::store* const node : nodes_) node->will_sleep(whether);
}

void quorum_reader::sleep(spi::sleeper& who) {
    will_sleep(false);  // what the replies to others make it send is not what it waits for
    std::unique_lock held{mutex_};
    while (who.is.load() != spi::sleeper::answered || turn_.is_of(&who)) {
        if (turn_.free()) turn_.take(&who);
        if (!turn_.is_of(&who)) {
            turn_.follow(held, who);
            continue;
        }
        held.unlock();
        read_for(who);
        held.lock();
        turn_.drop(&who);
        turn_.pass_on();
    }
}

// Until it is answered. Where another thread reads, that one answers.
void quorum_reader::read_for(spi::sleeper& who) {
    quorum_read_for = &who;
    for (pollfd& one : sources_) one = {.fd = -1, .events = POLLIN, .revents = 0};
    while (who.is.load() != spi::sleeper::answered) {
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (sources_[i].fd < 0) sources_[i].fd = nodes_[i]->start_reading(who);
        if (who.is.load() == spi::sleeper::answered) break;
        turn_.poll(sources_);
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (sources_[i].revents == 0 || nodes_[i]->read_ready(who)) continue;
            nodes_[i]->stop_reading(who, false);
            sources_[i].fd = -1;
        }
    }
    quorum_read_for = nullptr;
    const bool soon = calm_();
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (sources_[i].fd >= 0) nodes_[i]->stop_reading(who, soon);
}

void quorum_reader::wake(spi::sleeper& who) noexcept {
    if (who.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) return who.is.notify_one();
    if (quorum_read_for == &who) return;
    std::unique_lock held{mutex_};
    if (turn_.is_of(&who)) turn_.wake();
}

}  // namespace mortise::inline v0::base
