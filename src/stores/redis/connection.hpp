// One socket to one server, shared by all threads of a client.
//
// Writing: whoever sends while another is sending leaves its bytes to that one, so a crowd shares system calls.
//
// Reading: one thread at a time reads, for all. A caller that waits for an answer reads for itself and for whoever else is
// answered meanwhile (wait()); when it has its own, it passes the role on to another that waits. The client's io thread reads
// only when no caller does. So a lone caller's answer costs no switch to another thread.
//
//   nobody ---- a caller waits ----> that caller ---- it is answered ----> another that waits, or nobody
//      \------- armed, readable ---> the io thread -- nothing is left ---> likewise
//
// It connects when first used, and again by itself when it breaks. What was sent on a broken connection and not answered
// fails with reply::kind::failed: whether it took effect is not known.
#pragma once

#include "net/poller.hpp"
#include "net/resolve.hpp"
#include "net/transport.hpp"
#include "stores/redis/greeting.hpp"
#include "stores/redis/resp.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::redis {

using net::poller;
using net::resolved_address;
using net::transport;

// Called once, from the thread that reads, with no lock held. Replies are good during the call.
using handler = unique_function<void(const reply&)>;

class connection : public std::enable_shared_from_this<connection> {
public:
    using plan = connection_plan;
    // Called from the thread that reads, with no lock held.
    struct hooks {
        std::function<void(std::string_view channel, std::string_view message)> pushed{};
        std::function<void()> up{};
        std::function<void(const trouble&)> down{};
    };

    connection(settings how, plan what, hooks tell, spi::clock& clock, poller& sockets);
    ~connection();

    endpoint where() const;
    // From now on it leads elsewhere. What is on its way there fails.
    void move_to(const endpoint& where);
    // It is not known where it leads, and will not be soon.
    void fail(const trouble& why);

    void send(std::string_view bytes, handler done) { send(bytes, std::span{&done, 1}); }
    // Several commands in a row, with a handler each.
    void send(std::string_view bytes, std::span<handler> done);

    // Returns once `who` was answered; reads meanwhile, if nobody else does. False: gave up because nothing is expected here
    // any more, and `only_while_expecting` was set.
    bool wait(spi::sleeper& who, bool only_while_expecting = false);
    // `who` was answered by another thread: if it is the one that reads, it must look up.
    void nudge(const spi::sleeper& who) noexcept;

    // The calling thread is about to send something and to wait() for its answer: nobody else need be told to read.
    static void will_wait(bool whether) noexcept;

    // Pushes may arrive although nothing was asked.
    void expect_pushes(bool whether);

    // Breaks the connection and makes it anew: the other side is not what it should be.
    void start_over(const trouble& why);

    // Connects, if it never has: for pushes, before anything was sent.
    void start();

    bool up() const;
    // Of a strict client: why nothing should be claimed here, as it was found on connecting. Empty: no reason.
    bool strict() const noexcept { return how_.strict; }
    std::string flaw() const;
    bool down() const;  // it was tried, and failed
    // Why it is not up; nothing while it is, or has not been tried.
    trouble last_trouble() const;

    // No handler and no hook after this returns. Not from inside either.
    void close() noexcept;

private:
    enum class state { idle, resolving, establishing, greeting, up, down, closed };
    struct pending {
        handler done;
        spi::time_point sent;
    };
    using lock = std::unique_lock<std::mutex>;

    // With the mutex held.
    void begin();
    void try_next_address();
    void flush(lock& held);
    void pass_on();
    void arm(bool to_write = false);
    void disarm();
    void arm_later();
    void tick_later();
    trouble end_of_stream(const transport::result& how) const;
    void doom(trouble why);
    void broke(lock& held, trouble why);

    // On the thread that reads, without it.
    void ready();
    void establish(const std::shared_ptr<transport>& line);
    void greet(const std::shared_ptr<transport>& line);
    bool greeted(const reply& said);
    void take_in(const std::shared_ptr<transport>& line);
    void hand_out(const std::shared_ptr<transport>& line);
    void tick();

    const settings how_;
    plan plan_;  // only `where` changes
    const hooks tell_;
    spi::clock& clock_;
    poller& sockets_;

    mutable std::mutex mutex_;
    std::condition_variable quiet_;
    state is_ = state::idle;
    std::vector<resolved_address> addresses_;
    std::size_t next_address_ = 0;
    std::shared_ptr<transport> line_;
    std::uint64_t polled_ = 0;
    bool armed_ = false;
    bool arming_ = false;  // later
    bool ticking_ = false;
    bool pushes_ = false;
    spi::time_point begun_{};
    spi::time_point heard_{};
    spi::time_point next_try_{};
    unsigned failures_ = 0;
    trouble last_{};
    std::optional<trouble> doom_;

    std::string out_;
    bool sending_ = false;  // somebody does
    bool blocked_ = false;  // ... but the socket takes no more: the io thread will go on
    std::deque<pending> pending_;
    greeting greeting_;  // of whoever reads
    std::string flaw_;

    const void* reading_ = nullptr;       // a sleeper, or this for the io thread
    std::list<spi::sleeper*> followers_;  // asleep, or answered
    unsigned inside_ = 0;                 // handlers and hooks under way on threads that are no callers
    int bell_ = -1;
    reader input_;  // of whoever reads
};

}  // namespace mortise::inline v0::stores::redis
