// A connection to one server, shared by all threads of a client: who writes, who reads, how it is established and lost.
// What is said over it is up to the store's connection, which derives from this class (protocol.hpp).
//
// Writing: a thread that sends while another is sending leaves its bytes to that one, so that many senders share system
// calls.
//
// Reading: one thread at a time reads, for all (base/reader_turn.hpp). A caller that waits for a reply reads for itself and
// for everybody whose reply arrives meanwhile (wait()); when it has its own, it passes the turn on to another waiting
// caller. The client's io thread reads only if no caller does. So the reply to a single caller needs no thread switch.
//
// It connects when it is used, and reconnects after a pause when the connection broke:
//
//   idle --> resolving --> establishing --> greeting, if the protocol has one --> up
//               ^                \____________________\____________________________\--> down
//               \___________________________________________________________________/
//
// Requests that are pending on a broken connection fail; whether they took effect is not known.
#pragma once

#include "base/reader_turn.hpp"
#include "net/destination.hpp"
#include "net/endpoint.hpp"
#include "net/poller.hpp"
#include "net/protocol.hpp"
#include "net/resolve.hpp"
#include "net/transport.hpp"
#include "net/trouble.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::net {

// Thread-safe. Owned by a shared_ptr.
//
// One class because writing, reading and the state of the connection share one mutex, and a protocol uses all three.
// channel.cpp sends and receives, channel_lifecycle.cpp connects and closes.
class channel : public protocol, public std::enable_shared_from_this<channel> {
public:
    virtual ~channel();

    // Returns true once `who` was answered, and reads meanwhile if nobody else does. With `only_while_due` it returns
    // false when no answer is due here any more.
    bool wait(spi::sleeper& who, bool only_while_due = false);
    // Another thread has answered `who`: wakes it if it is the one that reads.
    void nudge(const spi::sleeper& who) noexcept;
    // The calling thread is about to send a request and to wait() for its reply, so no other thread need be woken to
    // read.
    static void will_wait(bool whether) noexcept;

    // The same in pieces, for a thread that waits for several channels. The first answers a descriptor to poll, or -1: another
    // thread reads, or it is not up.
    int take_turn(const spi::sleeper& who);
    bool read_in_turn(const spi::sleeper& who);  // false: there is nothing to read from any more
    // Another thread reads what is still due; `soon`: not before a while, since this one will be back.
    void leave_turn(const spi::sleeper& who, bool soon) noexcept;

    // Messages may arrive without a request, so the io thread must read while no caller does.
    void expect(bool whether);

    // Reads until `enough` returns true, or the time is up; returns at once if another thread reads. For the last
    // caller, when the io thread has stopped.
    void serve(std::chrono::milliseconds at_most, const std::function<bool()>& enough);

    void start();  // connects, unless it has already
    endpoint where() const;
    bool up() const;
    bool down() const;  // the last attempt to connect failed

    // The protocol calls nobody after this returns. Must not be called inside one of its callbacks.
    void close() noexcept;

protected:
    enum class state { idle, resolving, establishing, greeting, up, down, closed };
    using protocol::lock;
    using protocol::transport_ptr;

    // A protocol refuses requests while more than this is unsent.
    static constexpr std::size_t most_unsent = std::size_t{64} << 20;

    channel(destination to, spi::clock& clock, poller& sockets);

    // What a protocol uses, with the mutex held.

    void connect();
    void connect_if_due();  // at first, and when the pause is over
    void came_up(lock& held);
    void proven();              // the server speaks the protocol: it has answered something that makes sense
    void send_out(lock& held);  // what take_out() gives, unless another thread is sending
    // Lets the io thread read, at once or when no caller has read for a while.
    void have_read(bool at_once);
    static bool waits_soon() noexcept;  // the calling thread; see will_wait()
    void expect(lock& held, bool whether);
    void tick_later();        // calls look_for_late() soon
    trouble silence() const;  // the error of a request that was not answered in time
    // Breaks the connection from any thread: the thread that reads will find the end of the stream.
    void doom(trouble why);
    // Breaks the connection from the thread that reads, or before there is anything to read. Returns with the mutex
    // held.
    void broke(lock& held, trouble why);
    void try_again_later();  // reconnects even if nobody uses it; for lost()

    spi::clock& clock_;
    mutable std::mutex mutex_;
    destination to_;  // only `where` changes
    state is_ = state::idle;
    transport_ptr transport_;
    std::string out_;
    unsigned failures_ = 0;  // in a row
    bool proven_ = false;    // since it last connected
    trouble last_{};         // while it is down

private:
    // With the mutex held.
    bool connecting() const;
    void try_next_address();
    void flush(lock& held);
    void pass_on(bool at_once = true);
    void arm(bool to_write = false);
    void disarm();
    void arm_later();

    // On the thread that reads, without it.
    void ready();
    void establish(const transport_ptr& made);
    void take_in(const transport_ptr& from, bool awaiting = false);
    void tick();

    poller& sockets_;
    std::condition_variable quiet_;
    std::vector<resolved_address> addresses_;
    std::size_t next_address_ = 0;
    std::uint64_t polled_ = 0;
    bool armed_ = false;
    bool arming_ = false;  // later
    bool ticking_ = false;
    bool expecting_ = false;
    bool sending_ = false;  // somebody does
    std::string spare_;     // a buffer for who does
    bool blocked_ = false;  // ... but the socket takes no more: the io thread will go on
    spi::time_point begun_{};
    spi::time_point next_try_{};
    std::optional<trouble> doom_;

    base::reader_turn turn_;  // of a sleeper, or of `this` for the io thread
    unsigned inside_ = 0;     // callbacks of the protocol that run on threads other than callers
};

}  // namespace mortise::inline v0::net
