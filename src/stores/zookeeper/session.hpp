// One session with the servers: requests and watches. Only session.cpp, client_handle and request_status know the C client.
#pragma once

#include "stores/zookeeper/request_status.hpp"
#include "stores/zookeeper/session_listener.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

class client_handle;

// A node's state. Transactions are numbered (zxid): epoch of the leader << 32 | count.
struct node_stat {
    std::uint64_t created = 0;     // czxid
    std::uint64_t changed = 0;     // mzxid
    std::int64_t session = 0;      // that owns it, if it is ephemeral
    std::int32_t version = 0;      // how often it was set
    std::int32_t data_length = 0;  // in bytes

    // The number that orders grants: the zxid of its last change, or of its creation if it was never changed.
    std::uint64_t counter() const { return version > 0 ? changed : created; }
};

// All verbs return at once; their callbacks come from a thread of the C client's, in the order of the requests, and never
// from inside the verb. Requests wait for the first connection for as long as the C client tries to make it.
class session {
public:
    session(const settings& settings, spi::clock& clock, session_listener& listener);
    ~session();

    enum class kind { persistent, container, ephemeral_sequential };
    void create(const std::string& path, const std::string& data, kind,
                unique_function<void(const request_status&, const std::string& path, const node_stat&)>);
    void remove(const std::string& path, unique_function<void(const request_status&)>);
    using children_reply = unique_function<void(const request_status&, std::vector<std::string>, const node_stat&)>;
    void children(const std::string& path, children_reply done) { children(path, false, std::move(done)); }
    // The listener hears once when a child comes or goes.
    void watch_children(const std::string& path, children_reply done) { children(path, true, std::move(done)); }
    // With a watch the listener hears once when the node changes or is deleted; a node that does not exist is not watched.
    void read(const std::string& path, bool watch,
              unique_function<void(const request_status&, std::string data, const node_stat&)>);
    void stat(const std::string& path, unique_function<void(const request_status&, const node_stat&)>);
    // All operations or none. The callback gets the path that was created last, and the state of the node that was set last.
    struct operation {
        enum class kind { create, create_sequential, remove, set, check };  // what is created is ephemeral
        kind is = kind::check;
        std::string path{};
        std::string data{};
        std::int32_t version = -1;  // that the node must have; -1: any
    };
    void transact(std::vector<operation> operations,
                  unique_function<void(const request_status&, const std::string& created, const node_stat& set)>);
    // Answered by the leader. Requests sent after it see everything that had happened when it was sent.
    void sync(unique_function<void(const request_status&)>);

    // Runs it on a thread where it may block for a while.
    void run_aside(unique_function<void()> what);

    // Why a request failed, for people: one line.
    std::string complaint(const request_status& failed) const;
    // Whether it failed because no server accepts our connections.
    bool unreached(const request_status& failed) const;

    // No callback after it returns. Ends the session, so the servers remove its nodes at once.
    void close() noexcept;

private:
    void children(const std::string& path, bool watch, children_reply done);

    std::shared_ptr<client_handle> handle_;
};

}  // namespace mortise::inline v0::stores::zookeeper
