// A master that sentinels watch. All of them are asked who it is, and tell when it changes; what most of them say counts. The
// connection to the master moves along.
#include "stores/redis/router.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

constexpr std::string_view switched = "+switch-master";
constexpr std::chrono::milliseconds ask_every{500};

class watched final : public router, public std::enable_shared_from_this<watched> {
public:
    watched(const settings& how, const std::string& inbox, hooks tell, spi::clock& clock, poller& sockets)
        : how_(how),
          clock_(clock),
          tell_(std::move(tell)),
          master_(
              how,
              connection::plan{.where = {},
                               .unknown = "no sentinel answers; is one of them running, and are the addresses right?",
                               .user = how.user,
                               .password = how.password,
                               .database = how.database,
                               .inbox = inbox},
              connection::hooks{.pushed = [this](std::string_view, std::string_view message) { tell_.pushed(message); },
                                .up = [this] { master_is_up(); },
                                .down = [this](const trouble&) { look_soon(); }},
              clock, sockets) {
        for (const endpoint& one : how.endpoints) {
            const std::size_t i = votes_.size();
            votes_.emplace_back();
            sentinels_.push_back(std::make_shared<connection>(
                how,
                connection::plan{.where = one,
                                 .user = how.sentinel_user,
                                 .password = how.sentinel_password,
                                 .inbox = std::string(switched),
                                 .greets = false,
                                 .masters_only = false,
                                 .waited_on = false},
                connection::hooks{
                    .pushed = [this, i](std::string_view, std::string_view message) { has_switched(i, message); },
                    .up = [this, i] { ask_sentinel(i); }},
                clock, sockets));
            sentinels_.back()->expect(true);
        }
    }

    void ask(std::string_view, call what, handler done) override {
        begin();
        run(master_.shared(), std::move(what), watching(std::move(done)));
    }
    void ask_durably(std::string_view, call what, unsigned replicas, durable_handler done) override {
        begin();
        master_.run_durably(std::move(what), replicas,
                            [this, done = std::move(done)](const reply& said, unsigned have) mutable {
                                suspect(said);
                                done(said, have);
                            });
    }
    std::uint32_t group_of(std::string_view) const override { return 0; }
    std::vector<std::shared_ptr<connection>> everywhere() override {
        begin();
        return {master_.shared()};
    }
    void wait(spi::sleeper& who) override { master_.shared()->wait(who); }
    void nudge(const spi::sleeper& who) noexcept override { master_.shared()->nudge(who); }
    void expect_pushes(bool whether) override { master_.shared()->expect(whether); }
    void close() noexcept override {
        closed_ = true;
        for (const auto& one : sentinels_) one->close();
        master_.close();
    }

private:
    void begin() {
        if (begun_.load(std::memory_order_relaxed) || begun_.exchange(true)) return;
        look();
    }

    handler watching(handler done) {
        return [this, done = std::move(done)](const reply& said) mutable {
            suspect(said);
            done(said);
        };
    }
    // It is a master no more.
    void suspect(const reply& said) {
        if (!said.error() || !said.text.starts_with("READONLY")) return;
        master_.shared()->start_over({errc::unreachable, "is a replica now"});
        look_soon();
    }

    void master_is_up() {
        if (std::exchange(was_up_, true)) tell_.reconnected();
    }

    void look() {
        for (std::size_t i = 0; i < sentinels_.size(); ++i) ask_sentinel(i);
    }

    // Again and again while the master is out of reach.
    void look_soon() {
        if (closed_ || looking_.exchange(true)) return;
        clock_.at(clock_.now() + ask_every, [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (!self || self->closed_) return;
            self->looking_ = false;
            if (self->master_.shared()->up()) return;
            self->look();
            self->look_soon();
        });
    }

    void ask_sentinel(std::size_t i) {
        std::string bytes;
        append(bytes, {"SENTINEL", "get-master-addr-by-name", how_.master});
        sentinels_[i]->send(bytes, [this, i](const reply& said) {
            vote one{.heard = true};
            if (said.failure() && said.number != 0) {
                one.trouble = "sentinel " + std::string(said.text);
            } else if (said.failure()) {
                one.heard = false;
            } else if (said.error()) {
                one.trouble = "sentinel " + sentinels_[i]->where().shown() + ": " + std::string(said.text);
            } else if (said.items.size() == 2) {
                one.master = endpoint::of(said.items[0].text, said.items[1].text);
            } else {
                one.trouble = "no master is called '" + how_.master + "' where the sentinels are asked";
            }
            count(i, std::move(one));
        });
    }

    // name old-host old-port new-host new-port
    void has_switched(std::size_t i, std::string_view message) {
        std::vector<std::string_view> words;
        while (!message.empty()) {
            const std::size_t end = std::min(message.find(' '), message.size());
            words.push_back(message.substr(0, end));
            message.remove_prefix(std::min(end + 1, message.size()));
        }
        if (words.size() != 5 || words[0] != how_.master) return;
        if (const auto where = endpoint::of(words[3], words[4])) count(i, {.heard = true, .master = where});
    }

    struct vote {
        bool heard = false;
        std::optional<endpoint> master{};
        std::string trouble{};
    };
    void count(std::size_t i, vote one) {
        std::optional<endpoint> chosen;
        std::string trouble;
        {
            std::scoped_lock guard{mutex_};
            if (one.heard || !votes_[i].heard) votes_[i] = std::move(one);
            std::map<endpoint, int> named;
            for (const vote& v : votes_)
                if (v.master) ++named[*v.master];
            int most = 0;
            for (const auto& [where, times] : named) {
                if (times < most || (times == most && chosen == current_)) continue;
                most = times;
                chosen = where;
            }
            if (chosen) {
                current_ = chosen;
            } else if (std::all_of(votes_.begin(), votes_.end(), [](const vote& v) { return !v.trouble.empty(); })) {
                trouble = votes_[i].trouble;
            }
        }
        if (chosen) master_.move_to(*chosen);
        if (!trouble.empty()) master_.shared()->fail({errc::denied, trouble, true});
        if (!chosen) look_soon();
    }

    const settings how_;
    spi::clock& clock_;
    const hooks tell_;
    std::mutex mutex_;
    std::vector<vote> votes_;
    std::optional<endpoint> current_;
    std::atomic<bool> begun_{false};
    std::atomic<bool> looking_{false};
    std::atomic<bool> closed_{false};
    bool was_up_ = false;  // of the thread that reads
    server master_;
    std::vector<std::shared_ptr<connection>> sentinels_;
};

}  // namespace

std::shared_ptr<router> watched_by_sentinels(const settings& how, const std::string& inbox, router::hooks tell,
                                             spi::clock& clock, poller& sockets) {
    return std::make_shared<watched>(how, inbox, std::move(tell), clock, sockets);
}

}  // namespace mortise::inline v0::stores::redis
