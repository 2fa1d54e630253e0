// The keys that are watched, and who waits for them to go. Pure: no stream, no clock; what is to be done is answered.
//
// Keys are used again, and so are watches: one that nobody waits for any more goes on for a second. Whoever waits for its
// key next says at which revision the key was there, and the watch knows whether it was deleted since.
//
// etcd may register a watch behind a write, and then serves it only at its next round, of which there are ten a second. So
// somebody who waits on a young watch, and whose turn is near, can ask to be told to look once more.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// Not safe for several threads.
class lookouts {
public:
    using number = std::int64_t;  // of a watch, or of one who waits; 0 is none
    using told = unique_function<void()>;

    struct to_do {
        struct watch {
            number which;
            std::string key;
            std::int64_t from;  // a revision; 0: now
        };
        std::vector<watch> begin{};
        std::vector<number> end{};
        std::vector<told> tell{};
        std::optional<spi::time_point> look_at{};  // then call look_again()
    };

    enum class begins {
        now,    // served at once, but what was written between reading and watching is told as if the key had gone
        there,  // at the revision after the one read
    };

    // Tells once, when the key has gone since it was read or may have. `look`: how soon to look again if the watch is
    // young; zero: never.
    number wait(std::string key, std::int64_t read_at, begins how, spi::duration look, told then, spi::time_point now,
                to_do& out);
    to_do forget(number who, spi::time_point now);
    to_do look_again(number who, spi::time_point now);

    // What etcd says of a watch.
    to_do created(number which, std::int64_t revision, spi::time_point now);
    to_do deleted(number which, std::int64_t revision, spi::time_point now);
    to_do cancelled(number which);  // compacted away, or refused

    to_do reopened();  // on a new stream, which has no watches
    to_do sweep(spi::time_point now);
    bool idle() const noexcept { return !idle_.empty(); }
    bool awaited() const noexcept { return !waiters_.empty(); }  // somebody waits

private:
    struct lookout {
        std::string key;
        std::int64_t from = 0;
        std::optional<std::int64_t> since{};  // it tells all that is younger than this
        spi::time_point created{};
        std::int64_t deleted = 0;  // the last time
        std::vector<number> waiting{};
        spi::time_point idle_since{};
        std::optional<std::list<number>::iterator> idle{};
    };
    struct waiter {
        number on;
        std::int64_t read_at;
        told then;
    };

    template <class Which>
    void tell(lookout& one, number which, Which of_those, spi::time_point now, to_do& out);
    void rest(lookout& one, number which, spi::time_point now, to_do& out);
    void drop(number which, to_do& out);

    number last_ = 0;
    std::unordered_map<number, lookout> all_;
    std::unordered_map<std::string, number> by_key_;
    std::unordered_map<number, waiter> waiters_;
    std::list<number> idle_;  // the longest first
};

}  // namespace mortise::inline v0::stores::etcd
