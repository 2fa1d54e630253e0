#include "stores/zookeeper/servers/console.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#define THREADED
#include <zookeeper/zookeeper.h>

namespace mortise::inline v0::stores::zookeeper::servers {
namespace {

constexpr std::chrono::seconds answers_in{20};

void no_log(const char*) {}

void demand(int code, const std::string& what) {
    if (code != ZOK) throw std::runtime_error(what + ": " + zerror(code));
}

// The servers make it from the session's number: the first bytes of java.util.Random, seeded with that and a constant.
clientid_t credentials_of(std::int64_t id) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << 48) - 1;
    constexpr std::uint64_t factor = 0x5DEECE66D;
    clientid_t session{};
    session.client_id = id;
    std::uint64_t seed = ((static_cast<std::uint64_t>(id) ^ 0xB3415C00u) ^ factor) & mask;
    for (int i = 0; i < 16; i += 4) {
        seed = (seed * factor + 0xB) & mask;
        for (int byte = 0; byte < 4; ++byte) session.passwd[i + byte] = static_cast<char>(seed >> (16 + 8 * byte));
    }
    return session;
}

}  // namespace

struct console::handle {
    std::mutex mutex;
    std::condition_variable news;
    bool connected = false;
    bool expired = false;
    zhandle_t* zk;

    explicit handle(const std::string& servers, const clientid_t* as = nullptr)
        : zk(zookeeper_init2(servers.c_str(), &handle::watcher, 20'000, as, this, 0, &no_log)) {
        std::unique_lock held{mutex};
        const bool came = zk != nullptr && news.wait_for(held, answers_in, [&] { return connected || expired; });
        held.unlock();
        if (came) return;
        if (zk != nullptr) zookeeper_close(zk);
        throw std::runtime_error("no session with " + servers);
    }
    ~handle() { zookeeper_close(zk); }

    static void watcher(zhandle_t*, int, int state, const char*, void* context) {
        handle& self = *static_cast<handle*>(context);
        const std::scoped_lock guard{self.mutex};
        self.connected = state == ZOO_CONNECTED_STATE;
        self.expired = state == ZOO_EXPIRED_SESSION_STATE;
        self.news.notify_all();
    }
};

console::console(const std::string& servers) : servers_(servers), inside_(std::make_unique<handle>(servers)) {}

console::~console() = default;

std::vector<std::string> console::children(const std::string& path) {
    String_vector names{};
    const int code = zoo_get_children(inside_->zk, path.c_str(), 0, &names);
    if (code == ZNONODE) return {};
    demand(code, path);
    std::vector<std::string> all(names.data, names.data + names.count);
    deallocate_String_vector(&names);
    return all;
}

std::string console::data(const std::string& path) {
    std::string all(1'000'000, '\0');
    int size = static_cast<int>(all.size());
    demand(zoo_get(inside_->zk, path.c_str(), 0, all.data(), &size, nullptr), path);
    all.resize(static_cast<std::size_t>(std::max(size, 0)));  // none: -1
    return all;
}

void console::set(const std::string& path, const std::string& data) {
    demand(zoo_set(inside_->zk, path.c_str(), data.data(), static_cast<int>(data.size()), -1), path);
}

std::int64_t console::owner(const std::string& path) {
    Stat about{};
    demand(zoo_exists(inside_->zk, path.c_str(), 0, &about), path);
    return about.ephemeralOwner;
}

void console::make_to_read(const std::string& path) {
    demand(zoo_create(inside_->zk, path.c_str(), "", 0, &ZOO_READ_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0), path);
}

void console::remove(const std::string& path) {
    demand(zoo_delete(inside_->zk, path.c_str(), -1), path);
}

void console::end_session(std::int64_t id) {
    const clientid_t session = credentials_of(id);
    for (int tries = 0; tries < 100; ++tries)  // its owner may take it back before it is closed
        if (handle{servers_, &session}.expired) return;
    throw std::runtime_error("a session cannot be ended");
}

}  // namespace mortise::inline v0::stores::zookeeper::servers
