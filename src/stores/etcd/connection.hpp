// One socket to one member, shared by all threads of a client.
//
// Writing: whoever sends while another is sending leaves its bytes to that one, so a crowd shares system calls.
//
// Reading: one thread at a time reads, for all. A caller that waits for an answer reads for itself and for whoever else is
// answered meanwhile (wait()); when it has its own, it passes the role on to another that waits. The client's io thread reads
// only when no caller does. So a lone caller's answer costs no switch to another thread.
//
// It connects when it is used, and again after a pause when it broke. What was on its way then ends with the trouble; whether it
// took effect is not known, unless the member proved that it did not.
#pragma once

#include "net/endpoint.hpp"
#include "net/poller.hpp"
#include "net/resolve.hpp"
#include "net/transport.hpp"
#include "stores/etcd/grpc_session.hpp"
#include "stores/etcd/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// A call, which has a time and one answer; or a stream, which has neither. Replies come with no lock held.
struct exchange {
    const char* method = nullptr;
    std::string token{};
    std::optional<spi::duration> timeout{};  // of a call
    std::string request{};
    unique_function<void(const std::string&)> heard{};                        // of a stream: not two at a time
    unique_function<void(const ending&, const std::string& answer)> ended{};  // once, and the last
};

class connection : public std::enable_shared_from_this<connection> {
public:
    using ticket = std::uint64_t;

    connection(settings how, net::endpoint where, spi::clock& clock, net::poller& sockets);
    ~connection();

    ticket begin(exchange what);
    void say(ticket which, std::string message);
    void drop(ticket which);  // nothing more is heard of it, but for what is being said right now

    // Messages of streams are waited for: somebody is to read also while no caller does.
    void expect(bool whether);

    // Returns once `who` was answered; reads meanwhile, if nobody else does.
    void wait(spi::sleeper& who);
    // Reads until that is enough, at most for so long; returns at once if another thread reads. For who goes last, when the io
    // thread does not read any more.
    void serve(std::chrono::milliseconds at_most, const std::function<bool()>& enough);
    // `who` was answered by another thread: if it is the one that reads, it must look up.
    void nudge(const spi::sleeper& who) noexcept;
    // The calling thread is about to ask something and to wait() for its answer: nobody else need be told to read.
    static void will_wait(bool whether) noexcept;

    // Nothing is answered after this returns. Not from inside an answer.
    void close() noexcept;

private:
    enum class state { idle, resolving, establishing, up, down, closed };
    struct pending {
        exchange what;
        grpc_session::number stream = 0;  // 0: not sent yet
        spi::time_point begun{};
        std::optional<std::string> answer{};
        std::vector<std::string> unsaid{};  // of a stream that has not begun
    };
    using lock = std::unique_lock<std::mutex>;
    using shared_pending = std::shared_ptr<pending>;

    // With the mutex held.
    void connect();
    void try_next_address();
    void put_forward(ticket which, pending& one);
    void flush(lock& held);
    void pass_on();
    void arm(bool to_write = false);
    void disarm();
    void arm_later();
    void tick_later();
    void look_after_later();
    ending end_of_stream(const net::transport::result& how) const;
    ending silence() const;
    void doom(ending why);
    void broke(lock& held, ending why);

    // On the thread that reads, without it.
    void ready();
    void establish(const std::shared_ptr<net::transport>& line);
    void take_in(const std::shared_ptr<net::transport>& line);
    bool hand_out(const std::shared_ptr<net::transport>& line, std::string_view bytes);
    void tick();
    void look_after();

    const settings how_;
    const net::endpoint where_;
    spi::clock& clock_;
    net::poller& sockets_;

    std::mutex mutex_;
    std::condition_variable quiet_;
    state is_ = state::idle;
    std::vector<net::resolved_address> addresses_;
    std::size_t next_address_ = 0;
    std::shared_ptr<net::transport> line_;
    std::optional<grpc_session> session_;
    std::uint64_t polled_ = 0;
    bool armed_ = false;
    bool arming_ = false;  // later
    bool ticking_ = false;
    bool looking_after_ = false;
    bool expecting_ = false;
    spi::time_point begun_{};
    spi::time_point heard_{};
    std::optional<spi::time_point> pinged_{};
    bool ever_heard_ = false;  // on this socket
    spi::time_point next_try_{};
    unsigned failures_ = 0;
    ending last_{};
    std::optional<ending> doom_;

    std::string out_;
    bool sending_ = false;  // somebody does
    bool blocked_ = false;  // ... but the socket takes no more: the io thread will go on
    ticket last_ticket_ = 0;
    std::map<ticket, shared_pending> pending_;  // in the order they came
    std::size_t calls_ = 0;                     // of these
    std::unordered_map<grpc_session::number, ticket> by_stream_;

    const void* reading_ = nullptr;       // a sleeper, or this for the io thread
    std::list<spi::sleeper*> followers_;  // asleep, or answered
    unsigned inside_ = 0;                 // answers under way on threads that are no callers
    int bell_ = -1;
    std::unique_ptr<std::array<char, 65536>> room_;  // of whoever reads
    std::vector<grpc_session::event> events_;        // likewise
};

}  // namespace mortise::inline v0::stores::etcd
