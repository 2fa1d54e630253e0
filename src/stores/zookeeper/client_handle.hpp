// The C client's handle: who makes, uses and closes it, and which calls it has not answered yet.
//
// A thread of ours, the keeper, makes and closes handles, because the C client resolves names and joins its threads in these
// calls. A handle whose session has expired is closed; the next request makes another.
#pragma once

#include "stores/zookeeper/request_status.hpp"
#include "stores/zookeeper/session_listener.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <utility>

#define THREADED
#include <zookeeper/zookeeper.h>

namespace mortise::inline v0::stores::zookeeper {

class client_handle : public std::enable_shared_from_this<client_handle> {
public:
    using request = unique_function<void(zhandle_t*)>;

    client_handle(zookeeper::settings settings, spi::clock& clock, session_listener& listener)
        : settings_(std::move(settings)), clock_(clock), listener_(listener) {}

    const zookeeper::settings& settings() const { return settings_; }

    // Calls it with the handle, at once or as soon as there is one; with none after close().
    void with_handle(request);

    // Runs it on the keeper.
    void run_aside(unique_function<void()>);

    // No callback after it returns. Ends the session.
    void close() noexcept;

    // Whether no server accepts our connections, for a request that failed. The C client fails all requests when the first of
    // several servers does, and does not say why; so the servers are probed, at most once a second. This may block briefly.
    bool unreached(const request_status& failed);

    // Why a request failed, for people.
    std::string complaint(const request_status& failed);

    // A call that the C client has not answered. It forgets some when a handle is closed while the connection is down.
    struct open_call {
        virtual ~open_call() = default;
        virtual void abandon() = 0;
    };

    // What a callback of the C client's is given. `Arguments` are what ours takes.
    template <class... Arguments>
    struct call final : open_call {
        std::shared_ptr<client_handle> of;
        unique_function<void(const request_status&, Arguments...)> done;

        call(std::shared_ptr<client_handle> handle, unique_function<void(const request_status&, Arguments...)> then)
            : of(std::move(handle)), done(std::move(then)) {}

        void finish(int code, Arguments... arguments) {
            const std::unique_ptr<call> gone{this};
            of->forget(this);
            if (!of->closed_) done(request_status::of(code), std::forward<Arguments>(arguments)...);
        }
        // To be called before the C client is.
        void given(const zhandle_t* to) {
            if (to == nullptr) return;
            const std::scoped_lock guard{of->calls_mutex_};
            of->calls_.insert(this);
        }
        void abandon() override { finish(ZCONNECTIONLOSS, std::decay_t<Arguments>{}...); }
        // The C client did not accept it: the keeper answers.
        void fail(int code) {
            client_handle& by = *of;
            by.forget(this);
            const std::scoped_lock guard{by.mutex_};
            by.tasks_.emplace_back([this, code] { finish(code, std::decay_t<Arguments>{}...); });
            by.changed_.notify_one();
        }
    };
    template <class... Arguments>
    call<Arguments...>* new_call(unique_function<void(const request_status&, Arguments...)> done) {
        return new call<Arguments...>{shared_from_this(), std::move(done)};
    }

private:
    // What the C client gives back to the watcher: one for each handle, and as long-lived.
    struct watcher_context {
        client_handle* of = nullptr;
        spi::time_point requested_at{};
        std::atomic<bool> in_use{true};
        bool was_connected = false;  // written by the C client's thread under `mutex_`
    };

    void need_keeper();
    void keep();
    void make();
    void flush();
    bool drop();
    void state_changed(watcher_context& from, zhandle_t* of, int state);
    static void watcher(zhandle_t* of, int type, int state, const char* path, void* context);
    void forget(open_call* which);

    const zookeeper::settings settings_;
    spi::clock& clock_;
    session_listener& listener_;

    std::shared_mutex in_use_;  // shared: somebody uses the handle
    zhandle_t* handle_ = nullptr;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::thread keeper_;
    std::unique_ptr<watcher_context> current_;   // of the handle
    std::deque<request> backlog_;                // that wait for a handle
    std::deque<unique_function<void()>> tasks_;  // for the keeper
    bool expired_ = false;                       // the handle's session
    bool unmade_ = false;                        // the C client could not make a handle
    bool silent_ = false;                        // the last one was closed because no server answered
    bool connected_ = false;
    std::optional<spi::time_point> probed_at_{};
    bool nobody_there_ = false;     // as the probe found
    std::string turned_away_by_{};  // a server that accepts connections and closes them
    std::atomic<bool> closed_{false};

    std::mutex calls_mutex_;
    std::unordered_set<open_call*> calls_;
};

}  // namespace mortise::inline v0::stores::zookeeper
