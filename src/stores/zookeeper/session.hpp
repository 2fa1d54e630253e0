// One session with the servers: requests, watches, and what becomes of the session. The C client is known here only.
#pragma once

#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// How a request ended.
struct outcome {
    enum class kind {
        ok,
        no_node,
        exists,     // the node is there already
        not_empty,  // it has children
        changed,    // the version is another one
        denied,     // wrong credentials, or somebody else's node
        unsure,     // the connection ended first: it may have happened
        over,       // the session has ended, and its nodes are gone
        refused,    // anything else
    };
    kind is = kind::ok;
    int code = 0;

    bool ok() const { return is == kind::ok; }
    std::string text() const;
    static outcome session_over();
    friend bool operator==(const outcome& o, kind k) { return o.is == k; }
};

// What the servers know of a node. Transactions are numbered: epoch of the leader << 32 | count.
struct node_stat {
    std::uint64_t created = 0;
    std::uint64_t changed = 0;
    std::int64_t session = 0;  // that it ends with
    std::int32_t version = 0;  // how often it was changed

    // The number that orders grants: of its making, or of its last change if there was one.
    std::uint64_t counter() const { return version > 0 ? changed : created; }
};

// All verbs return at once; their callbacks come from a thread of the C client's, in the order of the requests, and never
// from inside the verb. Before there is a connection requests wait for one, as long as the C client tries to make it.
class session {
public:
    // Told from the same thread, in order with the answers.
    class listener {
    public:
        virtual ~listener() = default;
        virtual void begun(std::int64_t id, spi::time_point asked, spi::duration timeout) = 0;
        virtual void back(spi::duration timeout) = 0;       // connected again, the same session
        virtual void ended() = 0;                           // expired; a new one is made when something is asked
        virtual void touched(const std::string& path) = 0;  // a watch: the node came, went or changed
    };

    session(const settings& how, spi::clock& clock, listener& told);
    ~session();

    enum class kind { lasting, container, ephemeral_in_line };
    void create(const std::string& path, const std::string& data, kind,
                unique_function<void(const outcome&, const std::string& path, const node_stat&)>);
    void remove(const std::string& path, unique_function<void(const outcome&)>);
    void children(const std::string& path,
                  unique_function<void(const outcome&, std::vector<std::string>, const node_stat&)>);
    // With a watch we are told once when the node changes or goes; one that is not there is not watched.
    void read(const std::string& path, bool watch,
              unique_function<void(const outcome&, std::string data, const node_stat&)>);
    void look(const std::string& path, unique_function<void(const outcome&, const node_stat&)>);
    // All of it in one step, or nothing. Answers the path of what was created last, and how things are with what was set last.
    struct change {
        enum class kind { create_in_line, remove, set, check };
        kind is = kind::check;
        std::string path{};
        std::string data{};
        std::int32_t version = -1;  // that it must have; -1: any
    };
    void change_all(std::vector<change> what,
                    unique_function<void(const outcome&, const std::string& created, const node_stat& set)>);
    // What is asked after it sees all that had happened when it was asked. Answered by the leader.
    void sync(unique_function<void(const outcome&)>);

    // Runs it on a thread where it may block for a while.
    void aside(unique_function<void()> what);

    // Why a request failed, for people: one line.
    std::string complaint(const outcome& how) const;
    // Whether it failed because no server takes our connections.
    bool unreached(const outcome& how) const;

    // No callback after it returns. Ends the session, so its nodes vanish at once.
    void close() noexcept;

private:
    struct machinery;
    std::shared_ptr<machinery> inside_;
};

}  // namespace mortise::inline v0::stores::zookeeper
