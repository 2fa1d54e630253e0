#include "stores/zookeeper/client_handle.hpp"

#include "base/process.hpp"
#include "base/quiet_thread.hpp"
#include "stores/zookeeper/four_letters.hpp"
#include "stores/zookeeper/session_window.hpp"

#include <algorithm>
#include <iterator>

namespace mortise::inline v0::stores::zookeeper {
namespace {

void discard_log(const char*) {}

// The C client asks for the local time for each line of its log, even if nobody reads it. A thread of the parent may have held
// the C library's lock for that at the moment of the fork; the child would wait for it for ever.
void disable_log_after_fork() {
    if (base::fork_generation() != 0) zoo_set_debug_level(static_cast<ZooLogLevel>(0));
}

}  // namespace

void client_handle::with_handle(request what) {
    {
        const std::shared_lock using_it{in_use_};
        if (handle_ != nullptr) return what(handle_);
    }
    const std::scoped_lock guard{mutex_};
    if (closed_) return;
    backlog_.push_back(std::move(what));
    need_keeper();
}

void client_handle::run_aside(unique_function<void()> what) {
    const std::scoped_lock guard{mutex_};
    if (closed_) return;
    tasks_.push_back([this, what = std::move(what)]() mutable {
        if (!closed_) what();
    });
    need_keeper();
}

void client_handle::close() noexcept {
    std::deque<request> forgotten;
    {
        const std::scoped_lock guard{mutex_};
        if (closed_.exchange(true)) return;
        changed_.notify_all();
    }
    if (keeper_.joinable()) keeper_.join();
    drop();
    {
        const std::scoped_lock guard{mutex_};
        forgotten.swap(backlog_);
    }
    for (auto& one : forgotten) one(nullptr);
    while (!tasks_.empty()) {
        tasks_.front()();
        tasks_.pop_front();
    }
}

void client_handle::forget(open_call* which) {
    const std::scoped_lock guard{calls_mutex_};
    calls_.erase(which);
}

void client_handle::need_keeper() {
    if (!keeper_.joinable()) keeper_ = base::quiet_thread("mortise-zk", [this] { keep(); });
    changed_.notify_one();
}

void client_handle::keep() {
    std::unique_lock held{mutex_};
    while (!closed_) {
        if (!tasks_.empty()) {
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            held.unlock();
            task();
            held.lock();
        } else if (expired_) {
            held.unlock();
            drop();
            listener_.session_expired();
            held.lock();
        } else if (!backlog_.empty()) {
            held.unlock();
            make();
            held.lock();
        } else if (handle_ != nullptr && !current_->was_connected) {
            // How long a session lives is known only if it is young when the servers confirm it.
            const auto patience = session_window::patience_of(settings_.session);
            if (changed_.wait_for(held, patience) == std::cv_status::timeout && !closed_ && !current_->was_connected &&
                clock_.now() - current_->requested_at >= patience) {
                silent_ = true;
                held.unlock();
                if (drop()) listener_.session_expired();  // it was confirmed at the last moment
                held.lock();
            }
        } else {
            changed_.wait(held);
        }
    }
}

void client_handle::make() {
    if (handle_ != nullptr) return flush();  // a request came while it was made; only this thread changes it
    auto fresh = std::make_unique<watcher_context>();
    fresh->of = this;
    fresh->requested_at = clock_.now();
    disable_log_after_fork();
    zhandle_t* made =
        zookeeper_init2(settings_.servers.c_str(), &client_handle::watcher, static_cast<int>(settings_.session.count()),
                        nullptr, fresh.get(), 0, &discard_log);
    if (made != nullptr && !settings_.user.empty()) {
        const std::string credentials = settings_.user + ":" + settings_.password;
        zoo_add_auth(made, "digest", credentials.data(), static_cast<int>(credentials.size()), nullptr, nullptr);
    }
    {
        const std::unique_lock alone{in_use_};
        const std::scoped_lock guard{mutex_};
        if (made != nullptr) current_ = std::move(fresh);
        handle_ = made;
        unmade_ = made == nullptr;
        silent_ = false;
    }
    flush();
}

void client_handle::flush() {
    std::deque<request> waiting;
    {
        const std::scoped_lock guard{mutex_};
        waiting.swap(backlog_);
    }
    const std::shared_lock using_it{in_use_};
    for (request& one : waiting) one(handle_);
}

// Closes the handle. Returns whether it had a session, which has ended now.
bool client_handle::drop() {
    zhandle_t* old = nullptr;
    std::unique_ptr<watcher_context> of_old;
    {
        const std::unique_lock alone{in_use_};
        const std::scoped_lock guard{mutex_};
        old = std::exchange(handle_, nullptr);
        expired_ = false;
        connected_ = false;
        of_old = std::move(current_);
        if (of_old) of_old->in_use = false;
    }
    if (old != nullptr) {
        std::unordered_set<open_call*> before;
        {
            const std::scoped_lock guard{calls_mutex_};
            before = calls_;
        }
        zookeeper_close(old);
        std::unordered_set<open_call*> unanswered;
        {
            const std::scoped_lock guard{calls_mutex_};
            std::ranges::copy_if(before, std::inserter(unanswered, unanswered.end()),
                                 [&](open_call* one) { return calls_.contains(one); });
        }
        for (open_call* one : unanswered) one->abandon();
    }
    return of_old && of_old->was_connected;
}

void client_handle::watcher(zhandle_t* of, int type, int state, const char* path, void* context) {
    watcher_context& from = *static_cast<watcher_context*>(context);
    client_handle& self = *from.of;
    if (!from.in_use || self.closed_) return;
    if (type == ZOO_SESSION_EVENT) return self.state_changed(from, of, state);
    if (path != nullptr) self.listener_.node_changed(path);
}

void client_handle::state_changed(watcher_context& from, zhandle_t* of, int state) {
    bool first = false;
    {
        const std::scoped_lock guard{mutex_};
        connected_ = state == ZOO_CONNECTED_STATE;
        if (connected_) first = !std::exchange(from.was_connected, true);
        expired_ = expired_ || state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
        changed_.notify_one();
    }
    if (state != ZOO_CONNECTED_STATE) return;
    const spi::duration timeout = std::chrono::milliseconds{zoo_recv_timeout(of)};
    if (!first) return listener_.session_reconnected(timeout);
    listener_.session_started(zoo_client_id(of)->client_id, from.requested_at, timeout);
}

bool client_handle::unreached(const request_status& failed) {
    constexpr std::chrono::milliseconds probe_timeout{300};
    {
        const std::scoped_lock guard{mutex_};
        if (unmade_) return true;
        if (connected_ || silent_ || closed_ || failed.code != ZCONNECTIONLOSS) return false;
        if (probed_at_ && clock_.now() < *probed_at_ + std::chrono::seconds{1}) return nobody_there_;
        probed_at_ = clock_.now();
    }
    const std::vector<std::string> servers = each_server(settings_.servers);
    std::size_t unavailable = 0;
    std::string full;
    for (const std::string& one : servers) {
        const connect_result got = try_connecting(one, probe_timeout);
        if (got != connect_result::accepted) ++unavailable;
        if (got == connect_result::closed_at_once) full = one;
    }
    const std::scoped_lock guard{mutex_};
    nobody_there_ = unavailable == servers.size() || servers.size() == 1;  // the only one has just failed
    turned_away_by_ = full;
    return nobody_there_;
}

std::string client_handle::complaint(const request_status& failed) {
    const bool nobody = unreached(failed);
    const std::scoped_lock guard{mutex_};
    const std::string& servers = settings_.servers;
    if (connected_) return servers + ": " + failed.text();
    if (nobody && !turned_away_by_.empty())
        return turned_away_by_ +
               " accepts connections and closes them at once; this machine probably has as many as the server allows: "
               "raise maxClientCnxns (60 by default) in its zoo.cfg, or run fewer clients here";
    const bool several = servers.find(',') != std::string::npos;
    if (unmade_) return (several ? "cannot find the hosts " : "cannot find the host ") + servers;
    // For requests that the C client never sent because we closed its handle, its error code varies.
    if (silent_ || failed.code == ZCLOSING || failed.code == ZOPERATIONTIMEOUT)
        return several ? "none of " + servers + " answers" : servers + " does not answer";
    return "no connection to " + servers + " (" + failed.text() + ")";
}

}  // namespace mortise::inline v0::stores::zookeeper
