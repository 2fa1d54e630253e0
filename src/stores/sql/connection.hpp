// A connection to a database that all threads of a client share: it connects when it is used, reconnects after a pause, and runs
// statements in the order in which they were given.
//
//   idle --> connecting --> greeting --> up
//               ^   \__________\__________\--> down
//               \___________________________/
//
// A caller that waits for an answer reads the socket itself, for everybody (base/reader_turn.hpp), so that the answer to a single
// caller needs no thread switch; the client's io thread reads if no caller does.
//
// A statement whose answer does not come in time breaks the connection: the statement and all behind it end `unsure` or
// `unsent`, and the next one connects again.
#pragma once

#include "base/reader_turn.hpp"
#include "net/endpoint.hpp"
#include "net/poller.hpp"
#include "net/resolve.hpp"
#include "stores/sql/driver.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::sql {

// Safe to use from all threads. Owned by a shared_ptr. Calls nobody while it holds its mutex.
class connection : public std::enable_shared_from_this<connection> {
public:
    using then = unique_function<void(result)>;

    struct greeting {
        const statement* what;
        values bound;
    };
    struct setup {
        std::vector<net::endpoint> servers;  // tried in turn
        driver_factory make;
        spi::duration timeout = std::chrono::seconds{2};  // of connecting, and of an answer

        // What is run on every new connection before all else, such as LISTEN. If one fails, the connection is given up, and what
        // waited for it fails with that outcome.
        std::function<std::vector<greeting>()> greets{};

        // On the thread that reads, in order with the answers.
        std::function<void()> up{};
        std::function<void(const outcome&)> down{};  // of a connection that was up
        std::function<void(notification)> notified{};
    };

    connection(setup with, spi::clock& clock, net::poller& sockets);
    ~connection();

    // Connects if need be. `patience`: of a statement that blocks in the server, how much longer its answer may take. If the last
    // attempt to connect has just failed, `done` is called with that failure, inside this call.
    void run(const statement& what, values bound, then done, spi::duration patience = {});

    // From now on the io thread reads while no caller does, since notifications arrive without a statement, and a lost connection
    // is made again by itself.
    void keep_up();

    // Breaks it: a statement that blocks in the server ends `unsure`. The next statement connects again.
    void drop();

    // These as net::channel has them. `leaves`: whether the caller wants to read another connection, since something that it has read
    // here; then it returns although `who` is not answered.
    bool wait(
        spi::sleeper& who, bool (*leaves)() = [] { return false; });
    void nudge(const spi::sleeper& who) noexcept;
    static void will_wait(bool whether) noexcept;
    void serve(std::chrono::milliseconds at_most, const std::function<bool()>& enough);

    bool up() const;

    // Calls nobody after it returns. What was not answered never is. Must not be called inside a callback.
    void close() noexcept;

private:
    using lock = std::unique_lock<std::mutex>;
    using line = std::shared_ptr<driver>;
    enum class state { idle, connecting, greeting, up, down, closed };

    struct request {
        const statement* what = nullptr;
        values bound{};
        then done{};
        spi::duration patience{};
        spi::time_point due{};  // once it was sent
        bool greets = false;
    };

    // With the mutex held.
    void connect();
    void open(lock& held, const std::vector<net::resolved_address>& found);
    void watch(const line& which);
    void send(request&& next);
    void send_all();
    void take(lock& held);
    bool take_notification();
    void greeted(lock& held, const result& how);
    void broke(lock& held, outcome why);
    void deliver(lock& held);
    void pass_on();
    void arm();
    void arm_later();
    void disarm();
    void tick_later();

    // Without it.
    void ready();
    void tick();

    const setup with_;
    spi::clock& clock_;
    net::poller& sockets_;

    mutable std::mutex mutex_;
    std::condition_variable quiet_;
    state is_ = state::idle;
    line line_;
    std::uint64_t polled_ = 0;
    struct socket_copy;
    std::shared_ptr<const socket_copy> polled_copy_;
    bool armed_ = false;
    bool arming_ = false;  // later
    bool ticking_ = false;
    bool kept_up_ = false;
    std::deque<request> waiting_;  // to be sent
    std::deque<request> sent_;
    std::size_t greetings_ = 0;  // that have not been answered
    std::size_t server_ = 0;     // of the next attempt
    unsigned failures_ = 0;      // in a row
    spi::time_point begun_{};
    spi::time_point next_try_{};
    outcome last_{};  // why it is down

    struct delivery {
        then done{};  // with the answer; or else `call`
        result answer{};
        spi::task call{};
    };
    std::vector<delivery> calls_;  // to be made without the mutex, in order
    std::size_t called_ = 0;       // how many of them were
    bool delivering_ = false;      // somebody does
    base::reader_turn turn_;       // of a sleeper, or of `this` for the io thread
};

}  // namespace mortise::inline v0::stores::sql
