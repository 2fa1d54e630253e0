// A stream over a connection.
#pragma once

#include "stores/etcd/connection.hpp"
#include "stores/etcd/stream.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/unique_function.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::etcd {

class grpc_stream final : public stream, public std::enable_shared_from_this<grpc_stream> {
public:
    using guard = unique_function<void(unique_function<void()>)>;

    // All that is told is told inside `guarded`.
    grpc_stream(spi::clock& clock, listener hears, guard guarded)
        : clock_(clock), hears_(std::move(hears)), guarded_(std::move(guarded)) {}

    // `over` is told once when it ends, but not after stop(); it is to call fail().
    void begin(std::size_t member, std::shared_ptr<connection> over_line, const char* method, const std::string& token,
               unique_function<void(const ending&)> over);
    void fail(const rpc_result& why);
    void cut();  // as if the member had ended it

    void say(std::string message) override;
    void expect(bool whether) override;
    void stop() override;

    std::size_t member() const {
        std::scoped_lock held{mutex_};
        return member_;
    }

private:
    void heard(const std::string& message);
    void ended(const ending& how);
    void leave();

    spi::clock& clock_;
    std::mutex turn_;  // of whoever tells
    listener hears_;
    guard guarded_;
    std::atomic<bool> stopped_{false};

    mutable std::mutex mutex_;
    std::size_t member_ = 0;
    std::shared_ptr<connection> line_;
    connection::ticket ticket_ = 0;  // 0: it has not begun, or is over
    bool over_ = false;
    bool expecting_ = false;
    std::vector<std::string> unsaid_;
    unique_function<void(const ending&)> tell_;
};

}  // namespace mortise::inline v0::stores::etcd
