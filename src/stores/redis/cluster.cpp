// Routes to the nodes of a cluster. CLUSTER SLOTS says which node keeps a slot, and redirections correct it. Pushes arrive on a
// connection of their own, to any node: a cluster forwards messages to all nodes.
#include "stores/redis/lookup_pacer.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/router.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

constexpr std::size_t slots = 16384;
constexpr unsigned most_redirections = 8;
constexpr std::chrono::milliseconds map_asked_every{300};

// "MOVED 1234 host:port" or "ASK ...". An empty host is that of the node that sent it.
struct redirection {
    bool for_good = false;
    std::size_t slot = 0;
    endpoint where;
};
std::optional<redirection> read_redirection(std::string_view text, const endpoint& from) {
    redirection to;
    if (text.starts_with("MOVED ")) {
        to.for_good = true;
        text.remove_prefix(6);
    } else if (text.starts_with("ASK ")) {
        text.remove_prefix(4);
    } else {
        return std::nullopt;
    }
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), to.slot);
    const std::size_t colon = text.rfind(':');
    if (failed != std::errc{} || to.slot >= slots || colon == std::string_view::npos) return std::nullopt;
    const std::string_view port = text.substr(colon + 1);
    const char* const host = stop + 1;
    to.where.host = host < text.data() + colon ? std::string(host, static_cast<std::size_t>(text.data() + colon - host))
                                               : from.host;
    std::from_chars(port.data(), port.data() + port.size(), to.where.port);
    return to.where.port != 0 ? std::optional{to} : std::nullopt;
}

// The connection on which this thread sent last, where its reply will arrive. It or the router may be gone.
struct asking {
    const router* by = nullptr;
    std::weak_ptr<connection> on;
};
thread_local asking asked_last;

class cluster final : public router, public std::enable_shared_from_this<cluster> {
public:
    cluster(const settings& config, const std::string& inbox, hooks callbacks, spi::clock& clock, poller& sockets)
        : settings_(config),
          clock_(clock),
          sockets_(sockets),
          callbacks_(std::move(callbacks)),
          pacer_(clock, map_asked_every) {
        connection::plan push = plan_for(config.endpoints.front());
        push.inbox = inbox;
        inbox_ = std::make_shared<connection>(config, std::move(push),
                                              connection::hooks{.pushed = callbacks_.pushed,
                                                                .up =
                                                                    [this, first = true]() mutable {
                                                                        if (!std::exchange(first, false))
                                                                            callbacks_.reconnected();
                                                                    },
                                                                .down = [this](const trouble&) { move_inbox(); }},
                                              clock, sockets);
        for (const endpoint& one : config.endpoints) node_at(one);
    }

    void ask(std::string_view key, script_call request, handler done) override {
        const std::uint16_t slot = slot_of(key);
        const auto now = [this, slot](script_call&& which, handler&& then) {
            const auto to = keeper_of(slot);
            asked_last = {this, to->shared()};
            send(to, std::move(which), std::move(then), false, 0);
        };
        if (listening_.load(std::memory_order_relaxed)) return now(std::move(request), std::move(done));
        when_subscribed([now, request = std::move(request), done = std::move(done)](const reply&) mutable {
            now(std::move(request), std::move(done));
        });
    }

    void ask_durably(std::string_view key, script_call request, unsigned replicas, durable_handler done) override {
        when_subscribed([this, slot = slot_of(key), request = std::move(request), replicas,
                         done = std::move(done)](const reply&) mutable {
            durably(keeper_of(slot), std::move(request), replicas, std::move(done), false, 0);
        });
    }

    std::uint32_t group_of(std::string_view key) const override { return slot_of(key); }

    std::vector<std::shared_ptr<connection>> masters() override {
        begin();
        std::scoped_lock guard{mutex_};
        std::vector<std::shared_ptr<connection>> all;
        for (const auto& [where, node] : nodes_)
            if (!drawn_ || keeps_.contains(where)) all.push_back(node->shared());
        return all;
    }

    void when_known(handler then) override {
        begin();
        {
            std::scoped_lock guard{mutex_};
            if (!drawn_) return waits_for_the_map_.push_back(std::move(then));
        }
        then({.is = reply::kind::text});
    }

    void wait(spi::sleeper& sleeper) override {
        const asking last = std::exchange(asked_last, {});
        const auto on = last.by == this ? last.on.lock() : nullptr;
        if (on && on->wait(sleeper, true)) return;
        inbox_->wait(sleeper);
    }
    void nudge(const spi::sleeper& sleeper) noexcept override {
        inbox_->nudge(sleeper);
        std::scoped_lock guard{mutex_};
        for (const auto& [where, node] : nodes_) node->shared()->nudge(sleeper);
    }
    void expect_pushes(bool whether) override { inbox_->expect(whether); }

    void listen(std::string_view key, std::string_view channel, handler ready) override {
        const auto on = keeper_of(slot_of(key))->shared();
        std::shared_ptr<connection> instead;
        {
            std::scoped_lock guard{mutex_};
            listening& mine = channels_[std::string(channel)];
            mine.slot = slot_of(key);
            ++mine.listeners;
            if (!mine.on) mine.on = on;
            if (mine.on != on) instead = mine.on;
        }
        (instead ? instead : on)->listen(channel, [this, ready = std::move(ready)](const reply& answer) mutable {
            if (answer.error()) look_soon();  // the slot has moved
            ready(answer);
        });
    }
    void leave(std::string_view, std::string_view channel) override {
        std::shared_ptr<connection> on;
        {
            std::scoped_lock guard{mutex_};
            const auto it = channels_.find(channel);
            if (it == channels_.end()) return;
            on = it->second.on;
            if (--it->second.listeners == 0) channels_.erase(it);
        }
        on->leave(channel);
    }

    void close() noexcept override {
        pacer_.stop();
        inbox_->close();
        std::map<endpoint, std::shared_ptr<server>> nodes;
        {
            std::scoped_lock guard{mutex_};
            nodes = nodes_;
        }
        for (const auto& [where, node] : nodes) node->close();
    }

private:
    connection::plan plan_for(const endpoint& where) const {
        return {.where = where, .user = settings_.user, .password = settings_.password, .masters_only = false};
    }

    // With the mutex held, or in the constructor.
    std::shared_ptr<server> node_at(const endpoint& where) {
        auto& node = nodes_[where];
        if (!node)
            node = std::make_shared<server>(settings_, plan_for(where),
                                            connection::hooks{.pushed = callbacks_.pushed,
                                                              .up =
                                                                  [this, where, first = true]() mutable {
                                                                      if (!std::exchange(first, false))
                                                                          callbacks_.reconnected();
                                                                      look(where);
                                                                  },
                                                              .down = [this](const trouble&) { look_soon(); },
                                                              .unheard = [this] { look_soon(); }},
                                            clock_, sockets_);
        return node;
    }
    std::shared_ptr<server> locked_node_at(const endpoint& where) {
        std::scoped_lock guard{mutex_};
        return node_at(where);
    }

    std::shared_ptr<server> keeper_of(std::size_t slot) {
        begin();
        std::scoped_lock guard{mutex_};
        if (map_[slot]) return map_[slot];
        for (const auto& [where, node] : nodes_)  // it will redirect
            if (node->shared()->up()) return node;
        return nodes_.begin()->second;
    }

    void send(const std::shared_ptr<server>& to, script_call request, handler done, bool asking,
              unsigned redirections) {
        script_call copy = request;
        run(
            to->shared(), std::move(copy),
            [this, to, request = std::move(request), done = std::move(done),
             redirections](const reply& answer) mutable {
                if (answer.failure()) look_soon();
                if (!answer.error() || redirections >= most_redirections) return done(answer);
                const auto where = follow(answer.text, to);
                if (!where) return done(answer);
                asked_last = {this, where->first->shared()};
                send(where->first, std::move(request), std::move(done), where->second, redirections + 1);
            },
            asking);
    }

    void durably(const std::shared_ptr<server>& to, script_call request, unsigned replicas, durable_handler done,
                 bool asking, unsigned redirections) {
        script_call copy = request;
        to->run_durably(
            std::move(copy), replicas,
            [this, to, request = std::move(request), replicas, done = std::move(done), redirections](
                const reply& answer, unsigned have) mutable {
                if (answer.failure()) look_soon();
                if (!answer.error() || redirections >= most_redirections) return done(answer, have);
                const auto where = follow(answer.text, to);
                if (!where) return done(answer, have);
                durably(where->first, std::move(request), replicas, std::move(done), where->second, redirections + 1);
            },
            asking);
    }

    // The target of a redirection, and whether it is for this request only.
    std::optional<std::pair<std::shared_ptr<server>, bool>> follow(std::string_view text,
                                                                   const std::shared_ptr<server>& from) {
        const auto to = read_redirection(text, from->shared()->where());
        if (!to) return std::nullopt;
        std::shared_ptr<server> node;
        {
            std::scoped_lock guard{mutex_};
            node = node_at(to->where);
            if (to->for_good) {
                map_[to->slot] = node;
                keeps_.insert(to->where);
            }
        }
        if (to->for_good) look_soon();
        return std::pair{node, !to->for_good};
    }

    // The inbox must be subscribed before a claim is sent: it may be granted by a push at once.
    void when_subscribed(handler then) {
        begin();
        when_connected(inbox_, [this, then = std::move(then)](const reply& answer) mutable {
            if (!answer.failure()) listening_ = true;
            then(answer);
        });
    }

    void begin() {
        if (begun_.load(std::memory_order_relaxed) || begun_.exchange(true)) return;
        inbox_->start();
        look_soon();
        for (const endpoint& one : settings_.endpoints) look(one);
    }

    // Asks a node for the map. Whatever is wrong in it, redirections correct.
    void look(const endpoint& where) {
        constexpr std::string_view bytes = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";
        locked_node_at(where)->shared()->send(bytes, [this, where](const reply& answer) {
            if (answer.is == reply::kind::list) draw(answer, where);
            if (answer.failure() && answer.number != 0) tell_those_who_wait_for_the_map(answer);
        });
    }

    void look_soon() { pacer_.look_soon(weak_from_this(), &cluster::look_around); }

    // Asks every node that is up; all of them if none is. True: a node that keeps slots is out of reach, look again.
    bool look_around() {
        std::vector<endpoint> up;
        bool again = false;
        {
            std::scoped_lock guard{mutex_};
            for (const auto& [where, node] : nodes_) {
                const bool there = node->shared()->up();
                if (there) up.push_back(where);
                if (keeps_.contains(where) && !there) again = true;
            }
            if (up.empty()) {
                for (const auto& [where, node] : nodes_) up.push_back(where);
                again = true;
            }
        }
        for (const endpoint& one : up) look(one);
        return again;
    }

    void tell_those_who_wait_for_the_map(const reply& answer) {
        std::vector<handler> waiting;
        {
            std::scoped_lock guard{mutex_};
            waiting.swap(waits_for_the_map_);
        }
        for (handler& one : waiting) one(answer);
    }

    // The reply to CLUSTER SLOTS: from, to, [host, port, ...] of the master, those of the replicas.
    void draw(const reply& answer, const endpoint& asked) {
        std::set<endpoint> keeps;
        bool changed = false;
        {
            std::scoped_lock guard{mutex_};
            std::vector<std::shared_ptr<server>> map(slots);
            for (const reply& range : answer.items) {
                if (range.items.size() < 3 || range.items[2].items.size() < 2) continue;
                const reply& master = range.items[2];
                const std::string_view host = master.items[0].text;
                const endpoint where{host.empty() ? asked.host : std::string(host),
                                     static_cast<std::uint16_t>(master.items[1].number)};
                if (where.port == 0 || range.items[0].number < 0 || range.items[1].number >= std::int64_t{slots})
                    continue;
                keeps.insert(where);
                const auto node = node_at(where);
                for (std::int64_t slot = range.items[0].number; slot <= range.items[1].number; ++slot)
                    map[static_cast<std::size_t>(slot)] = node;
            }
            if (keeps.empty()) return;
            for (std::size_t i = 0; i < slots && !changed; ++i) changed = map_[i] && map[i] && map_[i] != map[i];
            map_ = std::move(map);
            keeps_ = std::move(keeps);
            drawn_ = true;
        }
        tell_those_who_wait_for_the_map(answer);
        if (changed) callbacks_.reconnected();
        follow_channels();
        if (inbox_->down()) move_inbox();
    }

    // To the nodes that keep their slots now. What was said meanwhile was not heard: claims are asked for again.
    void follow_channels() {
        struct move {
            std::string channel;
            std::shared_ptr<connection> from;
            std::shared_ptr<connection> to;
            std::size_t listeners;
        };
        std::vector<move> moves;
        {
            std::scoped_lock guard{mutex_};
            for (auto& [channel, one] : channels_) {
                const auto& keeper = map_[one.slot];
                if (!keeper || keeper->shared() == one.on) continue;
                moves.push_back({channel, one.on, keeper->shared(), one.listeners});
                one.on = keeper->shared();
            }
        }
        for (const move& one : moves)
            for (std::size_t i = 0; i < one.listeners; ++i) {
                one.from->leave(one.channel);
                one.to->listen(one.channel, [this, last = i + 1 == one.listeners](const reply& answer) {
                    if (last && !answer.failure()) callbacks_.reconnected();
                });
            }
    }

    // To a node that is up, if there is one.
    void move_inbox() {
        std::optional<endpoint> next;
        {
            std::scoped_lock guard{mutex_};
            for (const auto& [where, node] : nodes_)
                if (node->shared()->up() && where != inbox_->where()) next = where;
        }
        if (next) inbox_->move_to(*next);
    }

    const settings settings_;
    spi::clock& clock_;
    poller& sockets_;
    const hooks callbacks_;
    std::atomic<bool> begun_{false};
    std::atomic<bool> listening_{false};
    lookup_pacer pacer_;
    std::shared_ptr<connection> inbox_;

    std::mutex mutex_;
    std::map<endpoint, std::shared_ptr<server>> nodes_;  // all known ones
    std::vector<std::shared_ptr<server>> map_ = std::vector<std::shared_ptr<server>>(slots);
    std::set<endpoint> keeps_;  // nodes with slots; complete once the map is drawn
    bool drawn_ = false;
    struct listening {
        std::size_t slot = 0;
        std::size_t listeners = 0;
        std::shared_ptr<connection> on{};
    };
    std::map<std::string, listening, std::less<>> channels_;
    std::vector<handler> waits_for_the_map_;
};

}  // namespace

std::shared_ptr<router> make_cluster_router(const settings& config, const std::string& inbox, router::hooks callbacks,
                                            spi::clock& clock, poller& sockets) {
    return std::make_shared<cluster>(config, inbox, std::move(callbacks), clock, sockets);
}

}  // namespace mortise::inline v0::stores::redis
