// The nodes of a cluster. Each keeps some of the slots; which ones is asked of any of them, and corrected by their redirections.
// Pushes come over a connection of its own, to whichever node is there: a cluster passes messages on to all nodes.
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
constexpr std::chrono::milliseconds ask_every{300};

// "MOVED 1234 host:port" or "ASK ...". A host that is left out is the one that said so.
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

// The connection on which this thread asked last: its answer comes from there. Either may be gone by now.
struct asking {
    const router* by = nullptr;
    std::weak_ptr<connection> on;
};
thread_local asking asked_last;

class cluster final : public router, public std::enable_shared_from_this<cluster> {
public:
    cluster(const settings& how, const std::string& inbox, hooks tell, spi::clock& clock, poller& sockets)
        : how_(how), clock_(clock), sockets_(sockets), tell_(std::move(tell)) {
        connection::plan push = plan_for(how.endpoints.front());
        push.inbox = inbox;
        inbox_ = std::make_shared<connection>(
            how, std::move(push),
            connection::hooks{.pushed = [this](std::string_view, std::string_view message) { tell_.pushed(message); },
                              .up =
                                  [this, first = true]() mutable {
                                      if (!std::exchange(first, false)) tell_.reconnected();
                                  },
                              .down = [this](const trouble&) { move_inbox(); }},
            clock, sockets);
        for (const endpoint& one : how.endpoints) node_at(one);
    }

    void ask(std::string_view key, call what, handler done) override {
        const std::uint16_t slot = slot_of(key);
        const auto now = [this, slot](call&& which, handler&& then) {
            const auto to = keeper_of(slot);
            asked_last = {this, to->shared()};
            send(to, std::move(which), std::move(then), false, 0);
        };
        if (listening_.load(std::memory_order_relaxed)) return now(std::move(what), std::move(done));
        once_listening([now, what = std::move(what), done = std::move(done)](const reply&) mutable {
            now(std::move(what), std::move(done));
        });
    }

    void ask_durably(std::string_view key, call what, unsigned replicas, durable_handler done) override {
        once_listening([this, slot = slot_of(key), what = std::move(what), replicas,
                        done = std::move(done)](const reply&) mutable {
            durably(keeper_of(slot), std::move(what), replicas, std::move(done), false, 0);
        });
    }

    std::uint32_t group_of(std::string_view key) const override { return slot_of(key); }

    std::vector<std::shared_ptr<connection>> everywhere() override {
        begin();
        std::scoped_lock guard{mutex_};
        std::vector<std::shared_ptr<connection>> all;
        for (const auto& [where, node] : nodes_)
            if (!drawn_ || keeps_.contains(where)) all.push_back(node->shared());
        return all;
    }

    void once_known(handler then) override {
        begin();
        {
            std::scoped_lock guard{mutex_};
            if (!drawn_) return waits_for_the_map_.push_back(std::move(then));
        }
        then({.is = reply::kind::text});
    }

    void wait(spi::sleeper& who) override {
        const asking last = std::exchange(asked_last, {});
        const auto on = last.by == this ? last.on.lock() : nullptr;
        if (on && on->wait(who, true)) return;
        inbox_->wait(who);
    }
    void nudge(const spi::sleeper& who) noexcept override {
        inbox_->nudge(who);
        std::scoped_lock guard{mutex_};
        for (const auto& [where, node] : nodes_) node->shared()->nudge(who);
    }
    void expect_pushes(bool whether) override { inbox_->expect(whether); }

    void close() noexcept override {
        closed_ = true;
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
        return {.where = where, .user = how_.user, .password = how_.password, .masters_only = false};
    }

    // With the mutex held, or before anybody else can.
    std::shared_ptr<server> node_at(const endpoint& where) {
        auto& node = nodes_[where];
        if (!node)
            node = std::make_shared<server>(how_, plan_for(where),
                                            connection::hooks{.up =
                                                                  [this, where, first = true]() mutable {
                                                                      if (!std::exchange(first, false))
                                                                          tell_.reconnected();
                                                                      look(where);
                                                                  },
                                                              .down = [this](const trouble&) { look_soon(); }},
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
        for (const auto& [where, node] : nodes_)  // whoever it is, it knows better
            if (node->shared()->up()) return node;
        return nodes_.begin()->second;
    }

    void send(const std::shared_ptr<server>& to, call what, handler done, bool asking, unsigned redirections) {
        call copy = what;
        run(
            to->shared(), std::move(copy),
            [this, to, what = std::move(what), done = std::move(done), redirections](const reply& said) mutable {
                if (said.failure()) look_soon();
                if (!said.error() || redirections >= most_redirections) return done(said);
                const auto where = follow(said.text, to);
                if (!where) return done(said);
                asked_last = {this, where->first->shared()};
                send(where->first, std::move(what), std::move(done), where->second, redirections + 1);
            },
            asking);
    }

    void durably(const std::shared_ptr<server>& to, call what, unsigned replicas, durable_handler done, bool asking,
                 unsigned redirections) {
        call copy = what;
        to->run_durably(
            std::move(copy), replicas,
            [this, to, what = std::move(what), replicas, done = std::move(done), redirections](const reply& said,
                                                                                               unsigned have) mutable {
                if (said.failure()) look_soon();
                if (!said.error() || redirections >= most_redirections) return done(said, have);
                const auto where = follow(said.text, to);
                if (!where) return done(said, have);
                durably(where->first, std::move(what), replicas, std::move(done), where->second, redirections + 1);
            },
            asking);
    }

    // Where a redirection leads, and whether only for once.
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

    // A claim may be granted by a push as soon as it was sent.
    void once_listening(handler then) {
        begin();
        once_up(inbox_, [this, then = std::move(then)](const reply& said) mutable {
            if (!said.failure()) listening_ = true;
            then(said);
        });
    }

    void begin() {
        if (begun_.load(std::memory_order_relaxed) || begun_.exchange(true)) return;
        inbox_->start();
        look_soon();
        for (const endpoint& one : how_.endpoints) look(one);
    }

    // Asks a node for the map. The first to answer is believed; what is wrong is corrected by redirections.
    void look(const endpoint& where) {
        constexpr std::string_view bytes = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";
        locked_node_at(where)->shared()->send(bytes, [this, where](const reply& said) {
            if (said.is == reply::kind::list) draw(said, where);
            if (said.failure() && said.number != 0) tell_those_who_wait_for_the_map(said);
        });
    }

    // Soon, and again while a node that keeps slots is out of reach.
    void look_soon() {
        if (closed_ || looking_.exchange(true)) return;
        clock_.at(clock_.now() + ask_every, [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (!self || self->closed_) return;
            self->looking_ = false;
            std::vector<endpoint> up;
            bool all = true;
            {
                std::scoped_lock guard{self->mutex_};
                for (const auto& [where, node] : self->nodes_) {
                    const bool there = node->shared()->up();
                    if (there) up.push_back(where);
                    if (self->keeps_.contains(where) && !there) all = false;
                }
                if (up.empty()) {
                    for (const auto& [where, node] : self->nodes_) up.push_back(where);
                    all = false;
                }
            }
            for (const endpoint& one : up) self->look(one);
            if (!all) self->look_soon();
        });
    }

    void tell_those_who_wait_for_the_map(const reply& said) {
        std::vector<handler> waiting;
        {
            std::scoped_lock guard{mutex_};
            waiting.swap(waits_for_the_map_);
        }
        for (handler& one : waiting) one(said);
    }

    // The answer to CLUSTER SLOTS: from, to, [host, port, ...] of the master, those of the replicas.
    void draw(const reply& said, const endpoint& asked) {
        std::set<endpoint> keeps;
        bool changed = false;
        {
            std::scoped_lock guard{mutex_};
            std::vector<std::shared_ptr<server>> map(slots);
            for (const reply& range : said.items) {
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
        tell_those_who_wait_for_the_map(said);
        if (changed) tell_.reconnected();
        if (inbox_->down()) move_inbox();
    }

    // To a node that is there. One that is only slow to come up is left alone.
    void move_inbox() {
        std::optional<endpoint> next;
        {
            std::scoped_lock guard{mutex_};
            for (const auto& [where, node] : nodes_)
                if (node->shared()->up() && where != inbox_->where()) next = where;
        }
        if (next) inbox_->move_to(*next);
    }

    const settings how_;
    spi::clock& clock_;
    poller& sockets_;
    const hooks tell_;
    std::atomic<bool> begun_{false};
    std::atomic<bool> looking_{false};
    std::atomic<bool> listening_{false};
    std::atomic<bool> closed_{false};
    std::shared_ptr<connection> inbox_;

    std::mutex mutex_;
    std::map<endpoint, std::shared_ptr<server>> nodes_;  // all that were ever heard of
    std::vector<std::shared_ptr<server>> map_ = std::vector<std::shared_ptr<server>>(slots);
    std::set<endpoint> keeps_;  // those that keep slots; all of them once the map is drawn
    bool drawn_ = false;
    std::vector<handler> waits_for_the_map_;
};

}  // namespace

std::shared_ptr<router> in_a_cluster(const settings& how, const std::string& inbox, router::hooks tell,
                                     spi::clock& clock, poller& sockets) {
    return std::make_shared<cluster>(how, inbox, std::move(tell), clock, sockets);
}

}  // namespace mortise::inline v0::stores::redis
