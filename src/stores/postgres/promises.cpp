#include "stores/postgres/promises.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"

#include <chrono>
#include <string>

namespace mortise::inline v0::stores::postgres {

mortise::promises promises_of(const settings& settings) {
    const std::string silence = base::readable(settings.session) + " (option session)";
    return {
        .store = "postgres, advisory",
        .tokens = true,
        .fifo = false,
        .detached = false,  // a lock ends with its session
        .leases = true,
        .upgrades = false,
        .processes = true,
        .pushes = true,
        .lists = false,  // the server knows numbers, not names
        .most_capacity = 1,
        .default_lease = std::nullopt,  // the server ends the session of a dead client
        .longest_lease = settings.session * 9 / 10,
        .order = "In the order of the server's queue. Claims for which none of the " +
                 std::to_string(settings.wait_connections) +
                 " sessions to wait on (option wait_connections) is free ask every 20 to 200 ms until one is.",
        .reach = "everybody who reaches the server; also transactions under with_transaction",
        .exclusion = "Yes, while the server lives: it ends a session later than our lease on it.",
        .fencing = "Yes: a later grant has a larger token (of a sequence), also after the server has crashed.",
        .freed = "At once if the connection ends with its process; " + silence +
                 " after the server last heard from it if a network is silent.",
        .assumes = {"The clocks of client and server run equally fast to within 1 %.",
                    "No pooler shares a session among clients; one that is in between is refused.",
                    "For tokens: the server keeps what it committed (fsync and synchronous_commit are on)."},
        .ends = {"An operator ends the session (pg_terminate_backend), the network resets it, or the server restarts: "
                 "the lock is free at "
                 "once, and "
                 "its holder knows when the end of the connection reaches it.",
                 "The server fails over: its locks are not replicated, and an asynchronous replica may lack tokens.",
                 "A holder is paused beyond the end of its session: the next one gets the lock, with a larger token."},
    };
}

mortise::promises promises_of_row(const settings&) {
    return {
        .store = "postgres",
        .tokens = true,
        .fifo = true,
        .detached = true,
        .leases = true,
        .upgrades = true,
        .processes = true,
        .pushes = true,
        .keeps = true,
        .lists = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::chrono::seconds{30},
        .order =
            "First come, first served. A claim whose connection breaks while it waits, or that does not answer its "
            "grant within 3 s, or its lease if that is shorter, loses its place.",
        .reach = "everybody who reaches the server",
        .exclusion = "Yes, while the server keeps what it committed; also across its restarts and crashes.",
        .fencing = "Yes: a later grant has a larger token, of a sequence.",
        .freed =
            "At the end of its lease (30 s unless set otherwise); at once with its client. A claim that waits goes "
            "within a "
            "second after its connection ended. A lock that was released just before a crash of the server may be held "
            "by "
            "nobody until its lease ends.",
        .assumes =
            {"The clocks of client and server run equally fast to within 1 % (client_options::drift), and the server's "
             "clock is not set forward by more than the rest of a lease.",
             "No pooler in transaction mode is in between; one that is, is refused.",
             "The server keeps what it committed: fsync, full_page_writes and synchronous_commit are on."},
        .ends = {"A holder is paused past its lease: another is let in, with a larger token.",
                 "An operator deletes the row. The holder finds out when it next renews.",
                 "A failover to an asynchronous replica, which may lack the latest rows and tokens; or a restore."},
    };
}

}  // namespace mortise::inline v0::stores::postgres
