// The keys that are watched, and who waits for them to go; and folders, and who waits for something to be written there. Pure: no
// stream, no clock; what is to be done is answered.
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
class watch_table {
public:
    using number = std::int64_t;  // of a watch, or of one who waits; 0 is none
    using told = unique_function<void()>;

    struct actions {
        struct watch {
            number which;
            std::string key;
            std::int64_t from;  // a revision; 0: now
            bool is_folder;
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
                actions& out);
    // Tells once, when anything was written in the folder since that revision or may have been; or anything but keys of readers who
    // came to read.
    enum class writes { all, but_of_readers };
    number wait_for_writes(std::string folder, std::int64_t read_at, writes which, told then, spi::time_point now,
                           actions& out);
    actions forget(number waiting, spi::time_point now);
    actions look_again(number waiting, spi::time_point now);

    // What etcd says of a watch.
    actions created(number which, std::int64_t revision, spi::time_point now);
    // What is waited for: the latest, and the latest that is more than a reader who came.
    struct latest {
        std::int64_t any = 0;
        std::int64_t but_of_readers = 0;
    };
    actions happened(number which, latest at, spi::time_point now);
    actions cancelled(number which);  // compacted away, or refused

    actions reopened();  // on a new stream, which has no watches
    actions sweep(spi::time_point now);
    bool idle() const noexcept { return !idle_.empty(); }
    bool awaited() const noexcept { return !waiters_.empty(); }  // somebody waits
    bool is_folder(number which) const;

private:
    struct watched_key {
        std::string key;
        std::int64_t from = 0;
        bool is_folder = false;
        std::optional<std::int64_t> since{};  // it tells all that is younger than this
        spi::time_point created{};
        latest happened{};
        std::vector<number> waiting{};
        spi::time_point idle_since{};
        std::optional<std::list<number>::iterator> idle{};
    };
    struct waiter {
        number on;
        std::int64_t read_at;
        writes which;
        told then;

        std::int64_t counted(const latest& at) const noexcept {
            return which == writes::all ? at.any : at.but_of_readers;
        }
    };

    number add(std::string key, bool is_folder, waiter waits, begins how, spi::duration look, spi::time_point now,
               actions& out);
    template <class Which>
    void tell(watched_key& one, number which, Which of_those, spi::time_point now, actions& out);
    void rest(watched_key& one, number which, spi::time_point now, actions& out);
    void drop(number which, actions& out);

    number last_ = 0;
    std::unordered_map<number, watched_key> all_;
    std::unordered_map<std::string, number> by_key_;
    std::unordered_map<number, waiter> waiters_;
    std::list<number> idle_;  // the longest first
};

}  // namespace mortise::inline v0::stores::etcd
