// A bad network between a client and a server of one machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mortise::testing {

enum class way { to_server, to_client };

// Forwards 127.0.0.1:port() to another port, from a thread of its own. A verb has taken effect when it returns; all are for any
// thread. Without one, everything passes in order and at once.
class tcp_proxy {
public:
    explicit tcp_proxy(std::uint16_t server);
    ~tcp_proxy();
    tcp_proxy(const tcp_proxy&) = delete;
    tcp_proxy& operator=(const tcp_proxy&) = delete;

    std::uint16_t port() const;

    void lead_to(std::uint16_t server);  // new connections

    // Ends all connections with a reset, and what is on its way is lost.
    void cut();

    // Lets so many more bytes pass that way, counted over all connections, then ends the connection that carried the last of
    // them. With 0 what is sent next ends its connection and does not arrive. Happens once.
    void cut_after(way which, std::size_t bytes);

    // Takes what goes that way and never delivers it, while the connections stand.
    void swallow(way which, bool on = true);

    // Of what is sent from now on. Order is kept.
    void delay(way which, std::chrono::nanoseconds by);

    // Nothing moves and nothing ends. Connections are taken, as a network that lost its packets would not, but by the system
    // alone, as one to a stopped process is.
    void freeze();
    void thaw();

    // Nobody listens; connections that stand are left alone.
    void refuse();
    void accept();

    std::size_t connections();          // that stand
    std::size_t connected();            // ever
    std::size_t bytes_seen(way which);  // sent that way, delivered or not

private:
    class traffic;  // what its thread does
    std::unique_ptr<traffic> traffic_;
};

}  // namespace mortise::testing
