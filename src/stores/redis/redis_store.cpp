#include "stores/redis/redis_store.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "stores/redis/checkup.hpp"
#include "stores/redis/messages.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/promised.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>

namespace mortise::inline v0::stores::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Keys that one script renews: it must not keep the server from others for long.
constexpr std::size_t renewed_together = 500;

// A server's time is compared with ours only so long after it was told.
constexpr seconds time_known_for{10};

// How much slower than ours a server's clock may run.
constexpr double drift = 0.01;

// All answers, and how many are missing. A server that keeps silent must not keep the others' answers back.
struct renewal_round {
    std::mutex mutex;
    std::vector<spi::renewal_answer> answers;
    std::size_t missing;
    spi::reply<std::vector<spi::renewal_answer>> done;

    void finish(std::unique_lock<std::mutex>& held) {
        missing = 0;
        auto tell = std::move(done);
        auto all = std::move(answers);
        held.unlock();
        if (tell) tell(std::move(all));
    }
};

// Some of them, and their places among the answers.
struct renewals {
    std::vector<renewal_item> items;
    std::vector<std::size_t> places;
};

class redis_store final : public spi::store {
public:
    redis_store(settings how, const spi::context& around)
        : how_(std::move(how)),
          around_(around),
          sockets_(around.clock),
          me_{.prefix = how_.prefix,
              .client = claim_id::random().hex().substr(0, 16),
              .host = around.host,
              .pid = around.pid,
              .receivers_count = how_.shape != settings::topology::cluster},
          servers_(router::make(how_, me_.inbox(),
                                {.pushed = [this](std::string_view message) { pushed(message); },
                                 .reconnected = [this] { reconnected(); }},
                                around.clock, sockets_)) {}
    ~redis_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promised_; }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>) override;
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    // A renewal that is late may begin the lease anew, at its end.
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease ? std::optional{2 * *lease} : std::nullopt;
    }
    void list(spi::reply<spi::listing>) override;
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>) override;
    void check(spi::reply<std::vector<finding>> done) override {
        check_up(how_, servers_, around_.clock, std::move(done));
    }
    void will_sleep(bool whether) noexcept override { connection::will_wait(whether); }
    void sleep(spi::sleeper& who) override { servers_->wait(who); }
    void wake(spi::sleeper& who) noexcept override;
    void close() noexcept override;

private:
    // A claim of ours in a line, and what we last heard of the server's clock.
    struct waiting {
        std::string name;
        unsigned replicas = 0;
        spi::time_point sent{};
        server_time told{};
        bool told_at_all = false;
    };

    void pushed(std::string_view message);
    void reconnected();
    spi::claim_answer not_durable(unsigned have, unsigned wanted) const;
    void note(const claim_id& id, const claim_reply& said, spi::time_point sent, unsigned replicas);
    void confirm(const push& told, const std::string& name, unsigned replicas);
    void forget(const claim_id& id, bool altogether);
    void renew_together(renewals some, unsigned replicas, const std::shared_ptr<renewal_round>& all);
    unsigned replicas_of(const claim_id& id);
    void refresh_later();
    void refresh();

    const settings how_;
    const mortise::promises promised_ = promised_by(how_);
    const spi::context around_;
    poller sockets_;
    const asking_party me_;
    const std::shared_ptr<router> servers_;
    std::atomic<bool> closed_{false};

    std::mutex mutex_;
    std::unordered_map<claim_id, waiting> waiting_;
    std::unordered_map<claim_id, unsigned> durable_;  // held, and on how many replicas
    bool refreshing_ = false;
};

void redis_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    const std::string key = key_of(how_.prefix, wanted.name);
    const spi::time_point sent = around_.clock.now();
    const unsigned replicas = std::max(how_.replicas, wanted.replicas);
    if (wanted.queue) {  // before anybody can grant it
        std::scoped_lock guard{mutex_};
        const auto [it, fresh] = waiting_.try_emplace(wanted.id);
        it->second.replicas = replicas;
        if (fresh) it->second.name = wanted.name;
        if (fresh && waiting_.size() == 1) servers_->expect_pushes(true);
    }
    call what = claim_call(me_, key, wanted, replicas > 0);
    auto answered = [this, id = wanted.id, claimed = wanted.capacity, sent, replicas, done = std::move(done)](
                        const reply& raw, unsigned have) mutable {
        using enum spi::claim_answer::verdict;
        claim_reply said = read_claim(raw, sent, claimed);
        if (said.answer.is == granted && have < replicas) said.answer = not_durable(have, replicas);
        note(id, said, sent, replicas);
        if (said.answer.is == queued) refresh_later();
        done(std::move(said.answer));
    };
    if (replicas > 0) return servers_->ask_durably(key, std::move(what), replicas, std::move(answered));
    servers_->ask(key, std::move(what),
                  [answered = std::move(answered)](const reply& raw) mutable { answered(raw, 0); });
}

// Asked again, it may be: the grant stands on the master, and the replicas may catch up.
spi::claim_answer redis_store::not_durable(unsigned have, unsigned wanted) const {
    return {.is = spi::claim_answer::verdict::unknown,
            .reason = errc::unreachable,
            .detail = "granted by the master, but only " + std::to_string(have) + " of " + std::to_string(wanted) +
                      " replicas acknowledged it within " + base::readable(how_.replica_timeout)};
}

// What an answer tells of a claim that waits, or is kept on replicas.
void redis_store::note(const claim_id& id, const claim_reply& said, spi::time_point sent, unsigned replicas) {
    using enum spi::claim_answer::verdict;
    std::scoped_lock guard{mutex_};
    if (said.answer.is == granted && replicas > 0) durable_[id] = replicas;
    const auto it = waiting_.find(id);
    if (it == waiting_.end() || said.answer.is == unknown) return;
    if (said.answer.is == queued) {
        it->second.sent = sent;
        it->second.told = *said.now;
        it->second.told_at_all = true;
    } else {
        waiting_.erase(it);
        if (waiting_.empty()) servers_->expect_pushes(false);
    }
}

void redis_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    forget(id, true);
    const std::string key = key_of(how_.prefix, name);
    servers_->ask(key, release_call(me_, key, id), [done = std::move(done)](const reply& said) mutable {
        using enum spi::release_answer;
        if (said.is != reply::kind::integer) return done(unknown);
        done(said.number == 0 ? released : said.number == 1 ? expired : taken_over);
    });
}

void redis_store::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    using enum spi::renewal_answer;
    const auto all = std::make_shared<renewal_round>();
    all->answers.assign(due.size(), unknown);
    all->missing = due.size();
    all->done = std::move(done);

    std::map<std::pair<std::uint32_t, unsigned>, renewals> batches;
    spi::duration shortest = seconds{10};
    for (std::size_t i = 0; i < due.size(); ++i) {
        std::string key = key_of(how_.prefix, due[i].name);
        if (due[i].lease > spi::duration::zero()) shortest = std::min(shortest, due[i].lease / 10);
        const unsigned replicas = replicas_of(due[i].id);
        if (replicas > 0) shortest = std::max<spi::duration>(shortest, how_.replica_timeout + milliseconds{100});
        renewals& one = batches[{servers_->group_of(key), replicas}];
        one.items.push_back({std::move(key), due[i].id, due[i].lease});
        one.places.push_back(i);
        if (one.items.size() == renewed_together) renew_together(std::exchange(one, {}), replicas, all);
    }
    for (auto& [group, one] : batches)
        if (!one.items.empty()) renew_together(std::move(one), group.second, all);
    std::unique_lock held{all->mutex};
    if (all->missing == 0) return;
    held.unlock();
    around_.clock.at(around_.clock.now() + shortest, [all] {
        std::unique_lock late{all->mutex};
        if (all->missing != 0) all->finish(late);
    });
}

void redis_store::renew_together(renewals some, unsigned replicas, const std::shared_ptr<renewal_round>& all) {
    using enum spi::renewal_answer;
    const std::string key = some.items.front().key;
    call what = renew_call(some.items);
    auto answered = [this, some = std::move(some), replicas, all](const reply& said, unsigned have) {
        const std::vector<std::size_t>& places = some.places;
        if (places.size() > 1 && said.error() && said.text.starts_with("TRYAGAIN")) {
            // They are on their way to another node, and some are there already.
            for (std::size_t i = 0; i < places.size(); ++i)
                renew_together({{some.items[i]}, {places[i]}}, replicas, all);
            return;
        }
        std::unique_lock held{all->mutex};
        if (all->missing == 0) return;
        if (said.is == reply::kind::text && said.text.size() == places.size())
            for (std::size_t i = 0; i < places.size(); ++i)
                all->answers[places[i]] = said.text[i] != '1' ? lost : have < replicas ? unknown : renewed;
        all->missing -= places.size();
        if (all->missing == 0) all->finish(held);
    };
    if (replicas > 0) return servers_->ask_durably(key, std::move(what), replicas, std::move(answered));
    servers_->ask(key, std::move(what), [answered = std::move(answered)](const reply& said) { answered(said, 0); });
}

unsigned redis_store::replicas_of(const claim_id& id) {
    std::scoped_lock guard{mutex_};
    const auto it = durable_.find(id);
    return it != durable_.end() ? it->second : 0;
}

// A message to our inbox: a claim of ours was granted, or taken away.
void redis_store::pushed(std::string_view message) {
    const auto told = read_push(message);
    const auto name = told ? name_of(how_.prefix, told->key) : std::nullopt;
    if (!name || closed_) return;
    if (!told->granted) {
        forget(told->id, true);
        return around_.events.lost(*name, told->id);
    }
    const spi::time_point now = around_.clock.now();
    spi::grant given{.counter = told->counter, .lease = told->lease, .counted_from = now};
    if (told->left < told->lease) given.grace = told->left;
    bool known = false;
    unsigned replicas = 0;
    {
        std::scoped_lock guard{mutex_};
        const auto it = waiting_.find(told->id);
        if (it != waiting_.end()) {
            const waiting& w = it->second;
            replicas = w.replicas;
            known = replicas == 0 && w.told_at_all && now - w.sent <= time_known_for && told->at >= w.told;
            // Not counted from its arrival: it may have been on its way for long.
            const auto since = std::chrono::duration_cast<spi::duration>((told->at - w.told) * (1.0 - drift));
            given.counted_from = std::min(now, w.sent + since);
            if (known) {
                waiting_.erase(it);
                if (waiting_.empty()) servers_->expect_pushes(false);
            }
        } else {
            known = true;  // nobody waits for it: the core gives it back
        }
    }
    if (known) return around_.events.granted(*name, told->id, given);
    confirm(*told, *name, replicas);
}

// Our idea of the server's clock is too old to count from, or replicas have to know. A renewal says whether it is ours, from
// when on.
void redis_store::confirm(const push& told, const std::string& name, unsigned replicas) {
    const renewal_item mine{key_of(how_.prefix, name), told.id, told.lease};
    const spi::grant given{.counter = told.counter, .lease = told.lease, .counted_from = around_.clock.now()};
    auto answered = [this, id = told.id, name, given, replicas](const reply& said, unsigned have) {
        if (said.text != "1" || have < replicas) return;  // the core asks again
        forget(id, false);
        if (replicas > 0) {
            std::scoped_lock guard{mutex_};
            durable_[id] = replicas;
        }
        around_.events.granted(name, id, given);
    };
    if (replicas > 0) return servers_->ask_durably(mine.key, renew_call({&mine, 1}), replicas, std::move(answered));
    servers_->ask(mine.key, renew_call({&mine, 1}), [answered](const reply& said) { answered(said, 0); });
}

// It does not wait any more; or it does not hold either.
void redis_store::forget(const claim_id& id, bool altogether) {
    std::scoped_lock guard{mutex_};
    if (altogether && !durable_.empty()) durable_.erase(id);
    if (waiting_.erase(id) != 0 && waiting_.empty()) servers_->expect_pushes(false);
}

void redis_store::reconnected() {
    {
        std::scoped_lock guard{mutex_};
        for (auto& [id, one] : waiting_) one.told_at_all = false;  // it may be another server's clock now
    }
    around_.events.reconnected();
}

// While claims of ours wait, the servers are told now and then that we live.
void redis_store::refresh_later() {
    {
        std::scoped_lock guard{mutex_};
        if (closed_ || std::exchange(refreshing_, true)) return;
    }
    around_.clock.at(around_.clock.now() + refresh_every, [this] {
        if (!closed_) refresh();
    });
}

void redis_store::refresh() {
    std::map<std::string, std::vector<claim_id>> names;
    {
        std::scoped_lock guard{mutex_};
        refreshing_ = false;
        for (const auto& [id, one] : waiting_) names[one.name].push_back(id);
    }
    if (names.empty()) return;
    const spi::time_point sent = around_.clock.now();
    for (auto& [name, ids] : names) {
        const std::string key = key_of(how_.prefix, name);
        servers_->ask(key, refresh_call(me_, key), [this, sent, ids = std::move(ids)](const reply& said) {
            if (said.is != reply::kind::integer) return;
            std::scoped_lock guard{mutex_};
            for (const claim_id& id : ids)
                if (const auto it = waiting_.find(id); it != waiting_.end()) {
                    it->second.sent = sent;
                    it->second.told = server_time{said.number};
                    it->second.told_at_all = true;
                }
        });
    }
    refresh_later();
}

void redis_store::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    const std::string key = key_of(how_.prefix, which.name);
    servers_->ask(key, break_call(me_, key, which.counter), [done = std::move(done)](const reply& said) mutable {
        using enum spi::break_answer;
        done(said.is == reply::kind::text ? broken : said.is == reply::kind::null ? not_held : unknown);
    });
}

// Goes through all keys of every server: for people, not for programs in a hurry.
void redis_store::list(spi::reply<spi::listing> done) {
    struct survey : std::enable_shared_from_this<survey> {
        std::string prefix;
        std::mutex mutex;
        spi::listing all;
        std::size_t open = 0;
        spi::reply<spi::listing> done;

        void fail(const reply& said) {
            const complaint why = read_error(said);
            std::scoped_lock guard{mutex};
            all.failed = why.code;
            all.detail = why.advice();
        }
        void closed() {
            spi::reply<spi::listing> tell;
            {
                std::scoped_lock guard{mutex};
                if (--open > 0) return;
                tell = std::move(done);
            }
            std::stable_sort(all.holds.begin(), all.holds.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; });
            if (all.failed) all.holds.clear();
            tell(std::move(all));
        }
        void scan(const std::shared_ptr<connection>& server, std::string_view cursor) {
            std::string bytes;
            append(bytes, {"SCAN", cursor, "MATCH", pattern_of(prefix), "COUNT", "1000", "TYPE", "hash"});
            server->send(bytes, [self = shared_from_this(), server](const reply& said) {
                if (said.is != reply::kind::list || said.items.size() != 2) {
                    self->fail(said);
                    return self->closed();
                }
                for (const reply& key : said.items[1].items) self->show(server, key.text);
                if (said.items[0].text == "0") return self->closed();
                self->scan(server, said.items[0].text);
            });
        }
        void show(const std::shared_ptr<connection>& server, std::string_view key) {
            auto name = name_of(prefix, key);
            if (!name) return;
            {
                std::scoped_lock guard{mutex};
                ++open;
            }
            run(server, show_call(key), [self = shared_from_this(), of = std::move(*name)](const reply& said) {
                if (said.is == reply::kind::list) {
                    auto holds = read_shown(said, of);
                    std::scoped_lock guard{self->mutex};
                    std::move(holds.begin(), holds.end(), std::back_inserter(self->all.holds));
                } else {
                    self->fail(said);
                }
                self->closed();
            });
        }
    };
    const auto survey_ = std::make_shared<survey>();
    survey_->prefix = how_.prefix;
    survey_->done = std::move(done);
    survey_->open = 1;
    servers_->once_known([this, survey_](const reply& said) {
        if (said.failure()) {
            survey_->fail(said);
            return survey_->closed();
        }
        const auto servers = servers_->everywhere();
        survey_->open += servers.size();
        for (const auto& one : servers) survey_->scan(one, "0");
        survey_->closed();
    });
}

void redis_store::wake(spi::sleeper& who) noexcept {
    if (who.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) {
        who.is.notify_one();
    } else {
        servers_->nudge(who);
    }
}

void redis_store::close() noexcept {
    if (closed_.exchange(true)) return;
    sockets_.stop();
    servers_->close();
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [how = settings::of(address)](const spi::context& around) {
        settings mine = how;
        mine.strict = around.strict;
        return std::make_unique<redis_store>(std::move(mine), around);
    };
}

}  // namespace mortise::inline v0::stores::redis
