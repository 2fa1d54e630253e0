// One socket to one server, shared by all threads of a client: who writes, who reads, and how it is made and lost. What is said
// over it is a protocol's, which derives from this.
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
// It connects when it is used, and again after a pause when it broke:
//
//   idle --> resolving --> establishing --> greeting, if the protocol has one --> up
//               ^                \____________________\____________________________\--> down
//               \___________________________________________________________________/
//
// What was on its way on a broken connection fails; whether it took effect is not known.
#pragma once

#include "net/endpoint.hpp"
#include "net/poller.hpp"
#include "net/resolve.hpp"
#include "net/tls.hpp"
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
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mortise::inline v0::net {

// Where a channel leads, and what people are told who do not get there.
struct destination {
    endpoint where;         // port 0: not known yet
    std::string unknown{};  // what to say then, and to do
    std::string called{"the server"};
    tls_settings tls{};
    std::chrono::nanoseconds timeout = std::chrono::seconds{2};  // of a connection that does not come about
};

// For any thread, and owned by a shared_ptr.
class channel : public std::enable_shared_from_this<channel> {
public:
    virtual ~channel();

    // Returns once `who` was answered; reads meanwhile, if nobody else does. False: gave up because no answer is due here any
    // more, and `only_while_due` was set.
    bool wait(spi::sleeper& who, bool only_while_due = false);
    // `who` was answered by another thread: if it is the one that reads, it must look up.
    void nudge(const spi::sleeper& who) noexcept;
    // The calling thread is about to ask something and to wait() for its answer: nobody else need be told to read.
    static void will_wait(bool whether) noexcept;

    // Something may arrive although nothing was asked: somebody is to read also while no caller does.
    void expect(bool whether);

    // Reads until that is enough, at most for so long; returns at once if another thread reads. For who goes last, when the io
    // thread does not read any more.
    void serve(std::chrono::milliseconds at_most, const std::function<bool()>& enough);

    void start();  // connects, if it never has
    endpoint where() const;
    bool up() const;
    bool down() const;  // it was tried, and failed

    // The protocol tells nobody anything after this returns. Not from inside of what it tells.
    void close() noexcept;

protected:
    enum class state { idle, resolving, establishing, greeting, up, down, closed };
    using lock = std::unique_lock<std::mutex>;
    using line = std::shared_ptr<transport>;

    // More than this on its way to a server that does not take it is to be refused.
    static constexpr std::size_t most_unsent = std::size_t{64} << 20;

    channel(destination to, spi::clock& clock, poller& sockets);

    // ---- What a protocol does.

    // With the mutex held. Those that are given the lock may let go of it meanwhile, and tell people things then.
    //
    // The line is made, and this thread reads: greets, or calls came_up().
    virtual void established(lock& held) = 0;
    // Adds what is to be sent; a protocol may as well put it into out_ itself.
    virtual void take_out(std::string& to);
    // Something was asked, and is not answered.
    virtual bool answers_due() const = 0;
    // Called now and then while answers are due: whether they come in time.
    virtual void look_for_late(lock& held) = 0;
    // It broke, and last_ says why: all that is on its way has failed.
    virtual void lost(lock& held) = 0;
    // It is closed: drops all that is on its way, without the mutex, and tells nobody.
    virtual void forget(lock& held) noexcept = 0;

    // On the thread that reads, without the mutex.
    //
    // Where to read to.
    virtual std::span<char> space() = 0;
    // So much was read. False: that line is no more.
    virtual bool took(const line& from, std::size_t bytes) = 0;

    // ---- What a protocol may use, with the mutex held.

    void connect();
    void connect_if_due();  // at first, and when the pause is over
    void came_up(lock& held);
    void proven();  // the other side is what it should be: a greeting was answered, or anything that makes sense
    void send_out(lock& held);  // what take_out() gives, unless somebody is sending
    // Somebody is to read, at once; or, if not, when no caller has for a while.
    void have_read(bool at_once);
    static bool waits_soon() noexcept;  // this thread, see will_wait()
    void tick_later();                  // look_for_late() has something to look for
    trouble silence() const;            // for who is not answered in time
    // From a thread that may not be the one that reads: that one will find the end of the stream.
    void doom(trouble why);
    // On the thread that reads, or before there is anything to read. Returns with the mutex held again.
    void broke(lock& held, trouble why);
    void try_again_later();  // of lost(): even if nobody uses it

    spi::clock& clock_;
    mutable std::mutex mutex_;
    destination to_;  // only `where` changes
    state is_ = state::idle;
    line line_;
    std::string out_;
    unsigned failures_ = 0;  // in a row
    bool proven_ = false;    // since it last connected
    trouble last_{};         // while it is down

private:
    // With the mutex held.
    bool connecting() const;
    void try_next_address();
    void flush(lock& held);
    void pass_on();
    void arm(bool to_write = false);
    void disarm();
    void arm_later();
    void ring() noexcept;
    std::string reason(const transport::result& how) const;
    trouble end_of_stream(const transport::result& how) const;

    // On the thread that reads, without it.
    void ready();
    void establish(const line& made);
    void take_in(const line& from);
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

    const void* reading_ = nullptr;       // a sleeper, or this for the io thread
    std::list<spi::sleeper*> followers_;  // asleep, or answered
    unsigned inside_ = 0;                 // of what the protocol tells, on threads that are no callers
    int bell_ = -1;
};

}  // namespace mortise::inline v0::net
