// Waiting for keys to go, all of a client on one stream.
#pragma once

#include "stores/etcd/members.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace mortise::inline v0::stores::etcd {

// Each watch tells once that its key was deleted, or that this may have been missed. From any thread.
class watcher : public std::enable_shared_from_this<watcher> {
public:
    using number = std::int64_t;  // 0 is none

    watcher(std::shared_ptr<members> cluster, spi::clock& clock) : cluster_(std::move(cluster)), clock_(clock) {}

    // From this revision on, the one after that which was read. etcd serves a watch that begins in the past only ten times a
    // second; so with `missed` it begins now, and that is told if anything was written in between.
    number watch(std::string key, std::int64_t from, unique_function<void()> gone, unique_function<void()> missed = {});
    void cancel(number which);

private:
    struct watched {
        std::string key;
        std::int64_t from = 0;
        unique_function<void()> gone;
        unique_function<void()> missed;  // until it is known whether it was
    };

    void open();
    void heard(const std::string& message);
    void ended(std::uint64_t which);
    static std::string request_for(number which, const watched& one, bool now);

    const std::shared_ptr<members> cluster_;
    spi::clock& clock_;

    std::mutex mutex_;
    std::unordered_map<number, watched> all_;
    number last_ = 0;
    std::shared_ptr<stream> stream_;
    std::uint64_t stream_number_ = 0;
    bool opening_ = false;
    unsigned failures_ = 0;
};

}  // namespace mortise::inline v0::stores::etcd
