// Routes to the master that sentinels name. All of them are asked, and announce a failover; the majority decides. The connection
// then moves to the new master.
#include "stores/redis/lookup_pacer.hpp"
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
constexpr std::chrono::milliseconds master_asked_every{500};

class sentinel_master final : public router, public std::enable_shared_from_this<sentinel_master> {
public:
    sentinel_master(const settings& config, const std::string& inbox, hooks callbacks, spi::clock& clock,
                    poller& sockets)
        : settings_(config),
          pacer_(clock, master_asked_every),
          callbacks_(std::move(callbacks)),
          master_(
              config,
              connection::plan{.where = {},
                               .unknown = "no sentinel answers; is one of them running, and are the addresses right?",
                               .user = config.user,
                               .password = config.password,
                               .database = config.database,
                               .inbox = inbox},
              connection::hooks{.pushed = callbacks_.pushed,
                                .up = [this] { master_is_up(); },
                                .down = [this](const trouble&) { look_soon(); }},
              clock, sockets) {
        for (const endpoint& one : config.endpoints) {
            const std::size_t i = votes_.size();
            votes_.emplace_back();
            sentinels_.push_back(std::make_shared<connection>(
                config,
                connection::plan{.where = one,
                                 .user = config.sentinel_user,
                                 .password = config.sentinel_password,
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

    void ask(std::string_view, script_call request, handler done) override {
        begin();
        run(master_.shared(), std::move(request), watching(std::move(done)));
    }
    void ask_durably(std::string_view, script_call request, unsigned replicas, durable_handler done) override {
        begin();
        master_.run_durably(std::move(request), replicas,
                            [this, done = std::move(done)](const reply& answer, unsigned have) mutable {
                                suspect(answer);
                                done(answer, have);
                            });
    }
    std::uint32_t group_of(std::string_view) const override { return 0; }
    std::vector<std::shared_ptr<connection>> masters() override {
        begin();
        return {master_.shared()};
    }
    void wait(spi::sleeper& sleeper) override { master_.shared()->wait(sleeper); }
    void nudge(const spi::sleeper& sleeper) noexcept override { master_.shared()->nudge(sleeper); }
    void expect_pushes(bool whether) override { master_.shared()->expect(whether); }
    void listen(std::string_view, std::string_view channel, handler ready) override {
        begin();
        master_.shared()->listen(channel, std::move(ready));
    }
    void leave(std::string_view, std::string_view channel) override { master_.shared()->leave(channel); }
    void close() noexcept override {
        pacer_.stop();
        for (const auto& one : sentinels_) one->close();
        master_.close();
    }

private:
    void begin() {
        if (begun_.load(std::memory_order_relaxed) || begun_.exchange(true)) return;
        look();
    }

    handler watching(handler done) {
        return [this, done = std::move(done)](const reply& answer) mutable {
            suspect(answer);
            done(answer);
        };
    }
    // READONLY: it is no longer the master.
    void suspect(const reply& answer) {
        if (!answer.error() || !answer.text.starts_with("READONLY")) return;
        master_.shared()->start_over({errc::unreachable, "is a replica now"});
        look_soon();
    }

    void master_is_up() {
        if (std::exchange(was_up_, true)) callbacks_.reconnected();
    }

    void look() {
        for (std::size_t i = 0; i < sentinels_.size(); ++i) ask_sentinel(i);
    }

    void look_soon() { pacer_.look_soon(weak_from_this(), &sentinel_master::look_again); }
    // True: the master is still out of reach.
    bool look_again() {
        if (master_.shared()->up()) return false;
        look();
        return true;
    }

    void ask_sentinel(std::size_t i) {
        std::string bytes;
        append(bytes, {"SENTINEL", "get-master-addr-by-name", settings_.master});
        sentinels_[i]->send(bytes, [this, i](const reply& answer) {
            vote one{.heard = true};
            if (answer.failure() && answer.number != 0) {
                one.trouble = "sentinel " + std::string(answer.text);
            } else if (answer.failure()) {
                one.heard = false;
            } else if (answer.error()) {
                one.trouble = "sentinel " + sentinels_[i]->where().shown() + ": " + std::string(answer.text);
            } else if (answer.items.size() == 2) {
                one.master = endpoint::of(answer.items[0].text, answer.items[1].text);
            } else {
                one.trouble = "no master is called '" + settings_.master + "' where the sentinels are asked";
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
        if (words.size() != 5 || words[0] != settings_.master) return;
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

    const settings settings_;
    lookup_pacer pacer_;
    const hooks callbacks_;
    std::mutex mutex_;
    std::vector<vote> votes_;
    std::optional<endpoint> current_;
    std::atomic<bool> begun_{false};
    bool was_up_ = false;  // of the thread that reads
    server master_;
    std::vector<std::shared_ptr<connection>> sentinels_;
};

}  // namespace

std::shared_ptr<router> make_sentinel_router(const settings& config, const std::string& inbox, router::hooks callbacks,
                                             spi::clock& clock, poller& sockets) {
    return std::make_shared<sentinel_master>(config, inbox, std::move(callbacks), clock, sockets);
}

}  // namespace mortise::inline v0::stores::redis
