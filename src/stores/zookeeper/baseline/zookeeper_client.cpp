#include "stores/zookeeper/baseline/zookeeper_client.hpp"

#include "base/quiet_thread.hpp"

#include <mortise/error.hpp>

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#define THREADED
#include <zookeeper/zookeeper.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

constexpr std::chrono::seconds longest_wait{10};
constexpr std::chrono::seconds nudge_every{1};

void keep_silent(const char*) {}

void check(int code, const std::string& what) {
    if (code == ZOK) return;
    throw error(code == ZNOAUTH ? errc::denied : errc::unreachable, what + ": " + zerror(code));
}

}  // namespace

struct zookeeper_client::handle {
    std::mutex mutex;
    std::condition_variable news;
    bool connected = false;
    std::size_t told = 0;
    zhandle_t* zk = nullptr;
    const ACL_vector* rights = nullptr;
    bool closing = false;
    std::thread nudges;

    // A server may oversleep a request until the next one comes (README.md), and who waits for an answer sends none.
    void nudge() {
        std::unique_lock held{mutex};
        while (!news.wait_for(held, nudge_every, [&] { return closing; })) {
            held.unlock();
            zoo_aexists(
                zk, "/", 0, [](int, const Stat*, const void*) {}, nullptr);
            held.lock();
        }
    }
    void close() {
        {
            const std::scoped_lock guard{mutex};
            closing = true;
            news.notify_all();
        }
        if (nudges.joinable()) nudges.join();
        zookeeper_close(zk);
    }

    static void watcher(zhandle_t*, int type, int state, const char*, void* context) {
        handle& self = *static_cast<handle*>(context);
        const std::scoped_lock guard{self.mutex};
        if (type == ZOO_SESSION_EVENT) self.connected = state == ZOO_CONNECTED_STATE;
        if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE) ++self.told;
        self.news.notify_all();
    }
};

zookeeper_client::zookeeper_client(const settings& how) : inside_(std::make_unique<handle>()) {
    handle& h = *inside_;
    h.rights = how.user.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
    h.zk = zookeeper_init2(how.servers.c_str(), &handle::watcher, static_cast<int>(how.session.count()), nullptr, &h, 0,
                           &keep_silent);
    if (h.zk == nullptr) throw error(errc::unreachable, "cannot look up " + how.servers);
    if (!how.user.empty()) {
        const std::string who = how.user + ":" + how.password;
        zoo_add_auth(h.zk, "digest", who.data(), static_cast<int>(who.size()), nullptr, nullptr);
    }
    try {
        h.nudges = base::quiet_thread("mortise-zk", [&h] { h.nudge(); });
        std::unique_lock held{h.mutex};
        if (!h.news.wait_for(held, longest_wait, [&] { return h.connected; }))
            throw error(errc::unreachable, "no connection to " + how.servers);
    } catch (...) {
        h.close();
        throw;
    }
}

zookeeper_client::~zookeeper_client() {
    inside_->close();
}

bool zookeeper_client::make(const std::string& path) {
    for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
        const std::string part = path.substr(0, at);
        const int code = zoo_create(inside_->zk, part.c_str(), "", 0, inside_->rights, ZOO_PERSISTENT, nullptr, 0);
        if (code != ZNODEEXISTS) check(code, part);
        if (at == std::string::npos) return code == ZOK;
    }
}

std::string zookeeper_client::enter(const std::string& path, const std::string& data) {
    std::array<char, 1024> made{};
    check(zoo_create(inside_->zk, path.c_str(), data.data(), static_cast<int>(data.size()), inside_->rights,
                     ZOO_EPHEMERAL_SEQUENTIAL, made.data(), static_cast<int>(made.size())),
          path);
    return made.data();
}

bool zookeeper_client::remove(const std::string& path) {
    const int code = zoo_delete(inside_->zk, path.c_str(), -1);
    if (code != ZNONODE) check(code, path);
    return code == ZOK;
}

bool zookeeper_client::exists(const std::string& path) {
    const int code = zoo_exists(inside_->zk, path.c_str(), 1, nullptr);
    if (code != ZNONODE) check(code, path);
    return code == ZOK;
}

bool zookeeper_client::both(const std::string& created, const std::string& removed) {
    std::array<zoo_op_t, 2> ops{};
    std::array<zoo_op_result_t, 2> results{};
    zoo_create_op_init(&ops[0], created.c_str(), "", 0, inside_->rights, ZOO_PERSISTENT, nullptr, 0);
    zoo_delete_op_init(&ops[1], removed.c_str(), -1);
    const int code = zoo_multi(inside_->zk, 2, ops.data(), results.data());
    if (code != ZNONODE && code != ZNODEEXISTS) check(code, created);
    return code == ZOK;
}

void zookeeper_client::await_news() {
    handle& h = *inside_;
    std::unique_lock held{h.mutex};
    if (!h.news.wait_for(held, longest_wait * 6, [&] { return h.told > 0; }))
        throw error(errc::unreachable, "no news for a minute");
    --h.told;
}

}  // namespace mortise::inline v0::stores::zookeeper
