// One server that keeps names: the connection that all share, and one for claims that wait for its replicas.
#pragma once

#include "stores/redis/connection.hpp"
#include "stores/redis/messages.hpp"

#include <mortise/config.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis {

// By digest, and with the source if the server does not know it yet. `asking`: a slot that is on its way to this server.
void run(const std::shared_ptr<connection>& on, call what, handler done, bool asking = false);

// Runs `then` once the connection is up and listens to its inbox; at once if it does. Why not, if it cannot.
void once_up(const std::shared_ptr<connection>& on, handler then);

// Called with the script's answer, and how many replicas have what it wrote.
using durable_handler = unique_function<void(const reply&, unsigned replicas)>;

// WAIT covers the writes of its own connection and keeps that connection from everything else. So scripts go there in batches:
// those that come while one batch waits for its replicas are the next batch, and one WAIT is for all of them.
class durable_line : public std::enable_shared_from_this<durable_line> {
public:
    durable_line(std::shared_ptr<connection> on, std::chrono::nanoseconds patience)
        : on_(std::move(on)), patience_(patience) {}

    void run(call what, unsigned replicas, durable_handler done, bool asking);

private:
    struct item {
        call what;
        unsigned replicas;
        durable_handler done;
        bool asking = false;
        bool by_source = false;
        reply::kind is = reply::kind::failed;
        net::trouble::remedy helps{};
        std::int64_t number = 0;
        std::string text{};
    };
    using batch = std::vector<item>;

    void send_next();
    void answered(const std::shared_ptr<batch>& sent, const reply& waited);

    const std::shared_ptr<connection> on_;
    const std::chrono::nanoseconds patience_;
    std::mutex mutex_;
    batch next_;
    bool under_way_ = false;
};

class server {
public:
    server(const settings& how, connection::plan what, connection::hooks tell, spi::clock& clock, poller& sockets);

    const std::shared_ptr<connection>& shared() const noexcept { return shared_; }
    void run_durably(call what, unsigned replicas, durable_handler done, bool asking = false);
    void move_to(const endpoint& where);
    void close() noexcept;

private:
    const settings how_;
    connection::plan plan_;
    spi::clock& clock_;
    poller& sockets_;
    const std::shared_ptr<connection> shared_;
    std::mutex mutex_;
    bool closed_ = false;
    std::shared_ptr<connection> own_;
    std::shared_ptr<durable_line> durable_;
};

}  // namespace mortise::inline v0::stores::redis
