// One master: the shared connection, and one for claims that wait for replicas.
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

// Sends the digest, and the source if the server does not know it. `asking`: the slot is being moved to this server.
void run(const std::shared_ptr<connection>& on, script_call&& request, handler&& done, bool asking = false);

// Runs `then` once the connection is up and subscribed to its inbox; at once if it is. With the error if it cannot be.
void when_connected(const std::shared_ptr<connection>& on, handler then);

// Called with the script's reply, and how many replicas have acknowledged its writes.
using durable_handler = unique_function<void(const reply&, unsigned replicas)>;

// WAIT covers the writes of its own connection, and blocks it. So scripts are sent in batches with one WAIT each; those that come
// while a batch waits are the next batch.
class durable_queue : public std::enable_shared_from_this<durable_queue> {
public:
    durable_queue(std::shared_ptr<connection> on, std::chrono::nanoseconds patience)
        : on_(std::move(on)), patience_(patience) {}

    void run(script_call request, unsigned replicas, durable_handler done, bool asking);

private:
    struct item {
        script_call request;
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
    server(const settings& config, connection::plan plan, connection::hooks callbacks, spi::clock& clock,
           poller& sockets);

    const std::shared_ptr<connection>& shared() const noexcept { return shared_; }
    void run_durably(script_call request, unsigned replicas, durable_handler done, bool asking = false);
    void move_to(const endpoint& where);
    void close() noexcept;

private:
    const settings settings_;
    connection::plan plan_;
    spi::clock& clock_;
    poller& sockets_;
    const std::shared_ptr<connection> shared_;
    std::mutex mutex_;
    bool closed_ = false;
    std::shared_ptr<connection> own_;
    std::shared_ptr<durable_queue> durable_;
};

}  // namespace mortise::inline v0::stores::redis
