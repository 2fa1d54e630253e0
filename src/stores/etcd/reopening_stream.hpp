// A stream that is opened when there is something to say, and opened anew after it has ended.
//
//   closed --begin_opening()--> opening --> open --ended--> closed
//                                  ^                           |  `after_end::reopen`: after a pause, which doubles with
//                                  +---------------------------+  each stream on which nothing was heard
//
// What was said on a stream that has ended is lost. So its user knows what is still wanted, and says it on each new stream.
#pragma once

#include "stores/etcd/members.hpp"
#include "stores/etcd/stream.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace mortise::inline v0::stores::etcd {

// Whose stream it is.
class stream_user {
public:
    using lock = std::unique_lock<std::mutex>;

    virtual void opened(stream& fresh, const lock& held) = 0;  // says all that is still wanted
    virtual void heard(const std::string& message) = 0;
    virtual void ended(lock held) = 0;

protected:
    ~stream_user() = default;
};

// A member of its user, whose mutex guards both: nothing can be said between the opening and what opened() says.
class reopening_stream {
public:
    using lock = stream_user::lock;
    enum class after_end { reopen, stay_closed };

    reopening_stream(const char* method, after_end then, std::shared_ptr<members> cluster, spi::clock& clock,
                     std::mutex& mutex)
        : method_(method), then_(then), cluster_(std::move(cluster)), clock_(clock), mutex_(mutex) {}

    // None: it is not open. What is wanted now is said by opened().
    const std::shared_ptr<stream>& current(const lock& /*held*/) const { return stream_; }

    // True: the caller is the one to call open(), without the mutex.
    bool begin_opening(const lock& held);
    void open(const std::shared_ptr<stream_user>& user);

private:
    void ended(const std::shared_ptr<stream_user>& user, std::uint64_t which);

    const char* const method_;
    const after_end then_;
    const std::shared_ptr<members> cluster_;
    spi::clock& clock_;
    std::mutex& mutex_;

    std::shared_ptr<stream> stream_;
    std::uint64_t number_ = 0;  // of the stream that is open or being opened
    bool opening_ = false;
    unsigned silent_ = 0;  // streams in a row that ended before anything was heard
};

}  // namespace mortise::inline v0::stores::etcd
