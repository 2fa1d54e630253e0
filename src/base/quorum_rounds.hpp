// Requests to all nodes of a quorum that have not ended, and the timer that ends them when the nodes' time is up.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/spi/store.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace mortise::inline v0::base {

// A request that goes to all nodes at once, and ends when its result is certain or the nodes' time is up. Under the quorum's mutex.
struct quorum_round {
    using by_deadline = std::multimap<spi::time_point, std::shared_ptr<quorum_round>>;

    virtual ~quorum_round() = default;
    // The nodes' time is up. Ends it, and answers what to do with no mutex held.
    virtual spi::task expire(spi::time_point now) = 0;

    bool open() const noexcept { return place.has_value(); }

    std::optional<by_deadline::iterator> place{};
};

class quorum_rounds {
public:
    quorum_rounds(spi::clock& clock, std::mutex& mutex) : clock_(clock), mutex_(mutex) {}

    // With the mutex held.
    void begin(const std::shared_ptr<quorum_round>& round, spi::time_point deadline);
    void end(quorum_round& round);
    bool empty() const noexcept { return open_.empty(); }
    quorum_round::by_deadline close();  // what is still open, to be dropped without the mutex

    // Without it, after begin(). One timer for the first deadline; it is not cancelled when its round ends, and looks for the next
    // then.
    void watch();

private:
    void expire();

    spi::clock& clock_;
    std::mutex& mutex_;
    quorum_round::by_deadline open_;
    std::optional<spi::time_point> next_look_;              // for which there is a timer
    std::shared_ptr<int> alive_ = std::make_shared<int>();  // timers look
};

}  // namespace mortise::inline v0::base
