#include "stores/mysql/promises.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"

#include <chrono>
#include <string>

namespace mortise::inline v0::stores::mysql {
namespace {

constexpr const char* tested =
    "The server is MariaDB, of which 10.11 was tested; MySQL 8.0 should do the same, but was not run.";

}  // namespace

std::chrono::nanoseconds bound_lease(const settings& how) {
    return how.session * 2 / 5;
}

mortise::promises promises_of(const settings& how) {
    const bool get_lock = how.by == strategy::get_lock;
    const std::string session = base::readable(how.session);
    return {
        .store = get_lock ? "mysql, get_lock" : "mysql, for_update",
        .tokens = true,
        .fifo = false,
        .detached = false,
        .leases = true,
        .upgrades = false,
        .processes = true,
        .pushes = true,
        .lists = true,
        .most_capacity = 1,
        .default_lease = std::nullopt,
        .longest_lease = bound_lease(how),
        .order =
            get_lock
                ? "In the order of the server's queue for its named locks; a wait of more than 10 min is begun anew."
                : "In the order of InnoDB's queue for the row; a wait of more than 50 s is begun anew.",
        .reach = "everybody who reaches the server",
        .exclusion = "Yes, on one server, while no connection is ended by KILL or by the network.",
        .fencing = "Yes: a later grant has a larger token (AUTO_INCREMENT, committed before the grant is reported).",
        .freed = "At once if its connection ends, as it does with its process; " + session +
                 " (option session) after the server last heard from it if its machine or the network fails.",
        .assumes = {"The clocks of client and server run equally fast to within 1 %.",
                    "The server is the only one: locks are not replicated, neither by Galera nor by group replication.",
                    "Nothing between client and server shares connections (a proxy that does is refused).", tested},
        .ends =
            {"KILL of the holder's connection, or a network that resets it, frees the lock at once; the holder notices "
             "a moment later.",
             "The server restarts or another is promoted: its locks are gone, and a holder notices when its "
             "connection ends.",
             "A holder is paused for longer than " + session + ": the next one gets the lock, with a larger token.",
             "An asynchronous replica is promoted that has not seen the last tokens: they are given out again."},
    };
}

mortise::promises promises_of_row(const settings& how) {
    const bool told = how.wait_connections > 0;
    const std::string first_come =
        "First come, first served. A claim whose connection breaks while it waits, or that does not answer its grant "
        "within 3 s, or its lease if that is shorter, loses its place. ";
    return {
        .store = "mysql",
        .tokens = true,
        .fifo = true,
        .detached = true,
        .leases = true,
        .upgrades = true,
        .processes = true,
        .pushes = told,
        .lists = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::chrono::seconds{30},
        .order =
            first_come + (told ? "While a client has no second connection to be told on, it asks every 100 to 200 ms."
                               : "A client whose claims wait asks for all of them every 100 to 200 ms "
                                 "(wait_connections=0)."),
        .reach = "everybody who reaches the server",
        .exclusion = "Yes, while the server keeps what it committed; also across its restarts and crashes.",
        .fencing = "Yes: a later grant has a larger token, an AUTO_INCREMENT number.",
        .freed =
            "At the end of its lease (30 s unless set otherwise); at once with its client. A claim that waits goes "
            "within a "
            "second after its connection ended.",
        .assumes =
            {"The clocks of client and server run equally fast to within 1 % (client_options::drift), and the server's "
             "clock is not set forward by more than the rest of a lease.",
             "Nothing between client and server shares connections (a proxy that does is refused).",
             "The server keeps what it committed: innodb_flush_log_at_trx_commit is 1. It is the only one that takes "
             "changes: named locks, which tell who lives, are not replicated.",
             tested},
        .ends = {"A holder is paused past its lease: another is let in, with a larger token.",
                 "An operator deletes the row or breaks the lock. The holder finds out when it next renews.",
                 "A failover to an asynchronous replica, which may lack the latest rows and tokens; or a restore."},
    };
}

}  // namespace mortise::inline v0::stores::mysql
