// Waiting for keys to go and for writes, all of a client on one stream. Who waits for what, and what follows, is in watch_table.hpp.
#pragma once

#include "stores/etcd/members.hpp"
#include "stores/etcd/reopening_stream.hpp"
#include "stores/etcd/watch_table.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace mortise::inline v0::stores::etcd {

// From any thread. What is told may be told before watch() returns.
class watcher final : public std::enable_shared_from_this<watcher>, public stream_user {
public:
    using number = watch_table::number;
    using begins = watch_table::begins;

    watcher(std::shared_ptr<members> cluster, spi::clock& clock);

    // See watch_table::wait().
    number watch(std::string key, std::int64_t read_at, begins how, spi::duration look, unique_function<void()> told);
    // See watch_table::wait_for_writes().
    number watch_for_writes(std::string folder, std::int64_t read_at, watch_table::writes which,
                            unique_function<void()> told);
    void cancel(number waiting);

private:
    void act(lock held, watch_table::actions what);
    void opened(stream& fresh, const lock& held) override;
    void heard(const std::string& message) override;
    void ended(lock) override {}  // what is watched is watched again on the next
    void look_later(number waiting, spi::time_point when);
    void sweep_later();
    static std::string request_for(const watch_table::actions::watch& one);

    const std::shared_ptr<members> cluster_;
    spi::clock& clock_;

    std::mutex mutex_;
    watch_table all_;
    bool sweeping_ = false;
    reopening_stream stream_;
};

}  // namespace mortise::inline v0::stores::etcd
