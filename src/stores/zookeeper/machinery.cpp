#include "stores/zookeeper/machinery.hpp"

#include "base/process.hpp"
#include "base/quiet_thread.hpp"
#include "stores/zookeeper/four_letters.hpp"
#include "stores/zookeeper/session_window.hpp"

#include <algorithm>
#include <iterator>

namespace mortise::inline v0::stores::zookeeper {
namespace {

void say_nothing(const char*) {}

// The C client asks for the local time for each line of its log, also of one that nobody reads. A thread of the parent may
// have had the C library's lock for that at the moment of the fork; the child would wait for it for ever.
void log_nothing_after_a_fork() {
    if (base::fork_generation() != 0) zoo_set_debug_level(static_cast<ZooLogLevel>(0));
}

}  // namespace

void session::machinery::ask(request what) {
    {
        const std::shared_lock using_it{in_use};
        if (handle != nullptr) return what(handle);
    }
    const std::scoped_lock guard{mutex};
    if (closed) return;
    backlog.push_back(std::move(what));
    need_keeper();
}

void session::machinery::need_keeper() {
    if (!keeper.joinable()) keeper = base::quiet_thread("mortise-zk", [this] { keep(); });
    news.notify_one();
}

void session::machinery::keep() {
    std::unique_lock held{mutex};
    while (!closed) {
        if (!errands.empty()) {
            auto what = std::move(errands.front());
            errands.pop_front();
            held.unlock();
            what();
            held.lock();
        } else if (expired) {
            held.unlock();
            drop();
            told.ended();
            held.lock();
        } else if (!backlog.empty()) {
            held.unlock();
            make();
            held.lock();
        } else if (handle != nullptr && !current->connected) {
            // A session must be young when it is there at last: only so is it known how long it lives.
            const auto patience = session_window::patience_of(how.session);
            if (news.wait_for(held, patience) == std::cv_status::timeout && !closed && !current->connected &&
                clock.now() - current->asked >= patience) {
                silent = true;
                held.unlock();
                if (drop()) told.ended();  // it came at the last moment
                held.lock();
            }
        } else {
            news.wait(held);
        }
    }
}

void session::machinery::make() {
    if (handle != nullptr) return flush();  // somebody asked while it was made; only this thread changes it
    auto fresh = std::make_unique<line>();
    fresh->of = this;
    fresh->asked = clock.now();
    log_nothing_after_a_fork();
    zhandle_t* made = zookeeper_init2(how.servers.c_str(), &machinery::watcher, static_cast<int>(how.session.count()),
                                      nullptr, fresh.get(), 0, &say_nothing);
    if (made != nullptr && !how.user.empty()) {
        const std::string who = how.user + ":" + how.password;
        zoo_add_auth(made, "digest", who.data(), static_cast<int>(who.size()), nullptr, nullptr);
    }
    {
        const std::unique_lock alone{in_use};
        const std::scoped_lock guard{mutex};
        if (made != nullptr) current = std::move(fresh);
        handle = made;
        unmade = made == nullptr;
        silent = false;
    }
    flush();
}

void session::machinery::flush() {
    std::deque<request> waiting;
    {
        const std::scoped_lock guard{mutex};
        waiting.swap(backlog);
    }
    const std::shared_lock using_it{in_use};
    for (request& one : waiting) one(handle);
}

// Whether there was a session that is over now.
bool session::machinery::drop() {
    zhandle_t* old = nullptr;
    std::unique_ptr<line> of_old;
    {
        const std::unique_lock alone{in_use};
        const std::scoped_lock guard{mutex};
        old = std::exchange(handle, nullptr);
        expired = false;
        connected = false;
        of_old = std::move(current);
        if (of_old) of_old->in_use = false;
    }
    if (old != nullptr) {
        std::unordered_set<open_call*> asked;
        {
            const std::scoped_lock guard{calls_mutex};
            asked = calls;
        }
        zookeeper_close(old);
        std::unordered_set<open_call*> unanswered;
        {
            const std::scoped_lock guard{calls_mutex};
            std::ranges::copy_if(asked, std::inserter(unanswered, unanswered.end()),
                                 [&](open_call* one) { return calls.contains(one); });
        }
        for (open_call* one : unanswered) one->abandon();
    }
    return of_old && of_old->connected;
}

void session::machinery::watcher(zhandle_t* of, int type, int now, const char* path, void* context) {
    line& from = *static_cast<line*>(context);
    machinery& self = *from.of;
    if (!from.in_use || self.closed) return;
    if (type == ZOO_SESSION_EVENT) return self.state(from, of, now);
    if (path != nullptr) self.told.touched(path);
}

void session::machinery::state(line& from, zhandle_t* of, int now) {
    bool first = false;
    {
        const std::scoped_lock guard{mutex};
        connected = now == ZOO_CONNECTED_STATE;
        if (connected) first = !std::exchange(from.connected, true);
        expired = expired || now == ZOO_EXPIRED_SESSION_STATE || now == ZOO_AUTH_FAILED_STATE;
        news.notify_one();
    }
    if (now != ZOO_CONNECTED_STATE) return;
    const spi::duration timeout = std::chrono::milliseconds{zoo_recv_timeout(of)};
    if (!first) return told.back(timeout);
    told.begun(zoo_client_id(of)->client_id, from.asked, timeout);
}

bool session::machinery::unreached(const outcome& failed) {
    constexpr std::chrono::milliseconds a_moment{300};
    {
        const std::scoped_lock guard{mutex};
        if (unmade) return true;
        if (connected || silent || closed || failed.code != ZCONNECTIONLOSS) return false;
        if (tried && clock.now() < *tried + std::chrono::seconds{1}) return nobody_there;
        tried = clock.now();
    }
    const std::vector<std::string> all = each_server(how.servers);
    std::size_t shut = 0;
    std::string full;
    for (const std::string& one : all) {
        const door is = door_of(one, a_moment);
        if (is != door::open) ++shut;
        if (is == door::turns_away) full = one;
    }
    const std::scoped_lock guard{mutex};
    nobody_there = shut == all.size() || all.size() == 1;  // the one that there is has just failed
    turned_away_by = full;
    return nobody_there;
}

}  // namespace mortise::inline v0::stores::zookeeper
