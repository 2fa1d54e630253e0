// The C client's handle: who makes it, uses it and closes it, and which calls it still has to answer. Of session's own files.
//
// A thread of ours, the keeper, makes handles and closes them: the C client looks up names and joins its threads meanwhile.
#pragma once

#include "stores/zookeeper/session.hpp"

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

outcome outcome_of(int code);

struct session::machinery : std::enable_shared_from_this<machinery> {
    using request = unique_function<void(zhandle_t*)>;

    // What a handle is made with, and what its callbacks are told by. One for each handle, as long as that lives.
    struct line {
        machinery* of = nullptr;
        spi::time_point asked{};
        std::atomic<bool> in_use{true};
        bool connected = false;  // ever; by the C client's thread, and the keeper under `mutex`
    };

    machinery(settings with, spi::clock& time, listener& to) : how(std::move(with)), clock(time), told(to) {}

    const settings how;
    spi::clock& clock;
    listener& told;

    std::shared_mutex in_use;  // shared: somebody uses the handle
    zhandle_t* handle = nullptr;

    mutable std::mutex mutex;
    std::condition_variable_any news;
    std::thread keeper;
    std::unique_ptr<line> current;                // of the handle
    std::deque<request> backlog;                  // there is no handle yet
    std::deque<unique_function<void()>> errands;  // for the keeper
    bool expired = false;                         // the one there is
    bool unmade = false;                          // the C client could not make one
    bool silent = false;                          // the last was dropped because no server answered it
    bool connected = false;
    std::atomic<bool> closed{false};

    void ask(request what);
    void need_keeper();
    void keep();
    void make();
    void flush();
    bool drop();
    void state(line& from, zhandle_t* of, int now);

    // Whether it is known that no server takes our connections, for a request that failed so. The C client gives all up when
    // the first of several servers fails, and does not say why, so they are tried, once a second at most: this may block for
    // a moment.
    bool unreached(const outcome& failed);
    std::optional<spi::time_point> tried{};  // with `mutex` held, as what was found:
    bool nobody_there = false;
    std::string turned_away_by{};  // a server that lets us connect and closes the connection

    static void watcher(zhandle_t* of, int type, int now, const char* path, void* context);

    // What the C client has to answer. It forgets some when a handle is closed in bad times.
    struct open_call {
        virtual ~open_call() = default;
        virtual void abandon() = 0;
    };
    std::mutex calls_mutex;
    std::unordered_set<open_call*> calls;

    void forget(open_call* which) {
        const std::scoped_lock guard{calls_mutex};
        calls.erase(which);
    }

    // What a callback of the C client's is given. `Arguments` are what ours takes.
    template <class... Arguments>
    struct call final : open_call {
        std::shared_ptr<machinery> of;
        unique_function<void(const outcome&, Arguments...)> done;

        call(std::shared_ptr<machinery> home, unique_function<void(const outcome&, Arguments...)> then)
            : of(std::move(home)), done(std::move(then)) {}

        void finish(int code, Arguments... arguments) {
            const std::unique_ptr<call> gone{this};
            of->forget(this);
            if (!of->closed) done(outcome_of(code), std::forward<Arguments>(arguments)...);
        }
        // Before the C client hears of it.
        void given(const zhandle_t* to) {
            if (to == nullptr) return;
            const std::scoped_lock guard{of->calls_mutex};
            of->calls.insert(this);
        }
        void abandon() override { finish(ZCONNECTIONLOSS, std::decay_t<Arguments>{}...); }
        // The C client did not take it: the keeper answers.
        void fail(int code) {
            machinery& by = *of;
            by.forget(this);
            const std::scoped_lock guard{by.mutex};
            by.errands.emplace_back([this, code] { finish(code, std::decay_t<Arguments>{}...); });
            by.news.notify_one();
        }
    };
    template <class... Arguments>
    call<Arguments...>* calling(unique_function<void(const outcome&, Arguments...)> done) {
        return new call<Arguments...>{shared_from_this(), std::move(done)};
    }
};

}  // namespace mortise::inline v0::stores::zookeeper
