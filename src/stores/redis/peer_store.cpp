#include "stores/redis/peer_store.hpp"

#include "base/spare_blocks.hpp"
#include "stores/redis/late_claims.hpp"
#include "stores/redis/peer_waiters.hpp"
#include "stores/redis/renewer.hpp"
#include "stores/redis/routed_store.hpp"
#include "stores/redis/sent_claims.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <mutex>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

// For how long a name, and those few that share its place, is asked for by scripts after a plain command met a lock that was
// held: only the script says for how long.
constexpr spi::duration crowded_for = std::chrono::milliseconds{500};
constexpr std::size_t crowded_places = 64;

// A claim that was asked for by a plain command.
struct plain_request : base::spared<plain_request> {
    peer_claim wanted;
    spi::time_point sent;
    spi::reply<spi::claim_answer> done;

    plain_request(peer_claim&& claim, spi::time_point when, spi::reply<spi::claim_answer>&& then)
        : wanted(std::move(claim)), sent(when), done(std::move(then)) {}
};

struct sent_release : base::spared<sent_release> {
    std::string key;
    claim_id id;
    spi::reply<spi::release_answer> done;

    sent_release(std::string&& of, const claim_id& which, spi::reply<spi::release_answer>&& then)
        : key(std::move(of)), id(which), done(std::move(then)) {}
};

class peer_store final : public routed_store {
public:
    peer_store(std::unique_ptr<const peer_protocol> how, settings config, const spi::context& context)
        : routed_store(
              std::move(config), {},
              {.pushed = [this](std::string_view channel, std::string_view message) { heard(channel, message); },
               .reconnected = [this] { context_.events.reconnected(); }},
              context),
          how_(std::move(how)),
          renewer_({.key_of = [this](std::string_view name) { return how_->key_of(name); },
                    .call = [this](std::span<const renewal_item> items) { return how_->renew_call(items); }},
                   settings_, servers_, context.clock, [this](const claim_id& id) { return replicas_of(id); }) {}
    ~peer_store() override { close(); }
    void close() noexcept override;

    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        renewer_.renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    void list(spi::reply<spi::listing> done) override { done({.failed = errc::unsupported}); }
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer> done) override {
        done(spi::break_answer::unsupported);
    }

private:
    peer_claim claim_of(const spi::claim_request& wanted) const;
    spi::time_point& crowded_until(std::string_view key) {
        return crowded_until_[std::hash<std::string_view>{}(key) % crowded_places];
    }
    void ask_at_once(peer_claim&& mine, spi::reply<spi::claim_answer>&& done);
    bool send_plainly(const peer_claim& wanted, spi::time_point now);
    void ask_plainly(peer_claim&& wanted, script_call&& request, spi::time_point sent,
                     spi::reply<spi::claim_answer>&& done);
    void answered_plainly(plain_request& asked, const reply& raw);
    void refused_plainly(plain_request& asked);
    void answer(peer_claim mine, spi::claim_answer with, spi::reply<spi::claim_answer> done);
    void ask(peer_claim wanted, spi::reply<spi::claim_answer> done);
    void send_script(peer_claim wanted, spi::reply<spi::claim_answer> done);
    void note(const peer_claim& asked, sent_claims::by how, const spi::claim_answer& answer);
    void wait(peer_claim waiting, std::optional<spi::claim_answer> no, spi::reply<spi::claim_answer> done);
    void begin(peer_claim waiting, spi::reply<spi::claim_answer> done);
    void look(peer_claim waiting, spi::reply<spi::claim_answer> done);
    void heard(std::string_view channel, std::string_view message);
    void look_again(peer_claim waiting);
    void stop_waiting(std::string_view key, const claim_id& id);
    unsigned replicas_of(const claim_id& id);
    spi::release_answer released(const std::string& key, const claim_id& id, spi::release_answer answer);
    void watch_late_claims();
    void release_late_claims();

    const std::unique_ptr<const peer_protocol> how_;
    renewer renewer_;

    std::mutex mutex_;
    peer_waiters waiting_;
    sent_claims sent_;
    late_claims late_;
    bool watching_late_ = false;                                   // there is a timer
    std::array<spi::time_point, crowded_places> crowded_until_{};  // by the hash of the key
    std::shared_ptr<int> open_ = std::make_shared<int>();          // timers look
};

peer_claim peer_store::claim_of(const spi::claim_request& wanted) const {
    return {.name = std::string(wanted.name),
            .key = how_->key_of(wanted.name),
            .id = wanted.id,
            .capacity = wanted.capacity,
            .weight = wanted.weight,
            .lease = wanted.lease.value_or(*promises_.default_lease),
            .replicas = std::max(settings_.replicas, wanted.replicas),
            .queue = wanted.queue,
            .own = wanted.kept_by == kept_by::process};
}

void peer_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    using enum spi::claim_answer::verdict;
    if (std::string no = how_->objection(wanted); !no.empty())
        return done({.is = refused, .reason = errc::unsupported, .detail = std::move(no)});
    peer_claim mine = claim_of(wanted);
    if (mine.queue && wanted.gives_way) return wait(std::move(mine), std::nullopt, std::move(done));
    ask_at_once(std::move(mine), std::move(done));
}

void peer_store::ask_at_once(peer_claim&& mine, spi::reply<spi::claim_answer>&& done) {
    const spi::time_point now = context_.clock.now();
    if (auto request = how_->plain_claim_call(mine); request && send_plainly(mine, now))
        return ask_plainly(std::move(mine), std::move(*request), now, std::move(done));
    ask(mine, [this, mine, done = std::move(done)](spi::claim_answer with) mutable {
        answer(std::move(mine), std::move(with), std::move(done));
    });
}

void peer_store::answer(peer_claim mine, spi::claim_answer with, spi::reply<spi::claim_answer> done) {
    using enum spi::claim_answer::verdict;
    if (with.is == busy && mine.queue) return wait(std::move(mine), std::move(with), std::move(done));
    if (with.is != unknown) stop_waiting(mine.key, mine.id);
    done(std::move(with));
}

// On one connection the release comes after the claim; with more, it may not. If so, it counts as sent.
bool peer_store::send_plainly(const peer_claim& wanted, spi::time_point now) {
    if (settings_.shape != settings::topology::single || wanted.replicas > 0) return false;
    std::scoped_lock guard{mutex_};
    if (now < crowded_until(wanted.key) || waiting_.contains(wanted.id) || !sent_.may_be_plain(wanted.id, now))
        return false;
    sent_.asked(wanted.id, sent_claims::by::plain_command);
    return true;
}

void peer_store::ask_plainly(peer_claim&& wanted, script_call&& request, spi::time_point sent,
                             spi::reply<spi::claim_answer>&& done) {
    auto asked = std::make_unique<plain_request>(std::move(wanted), sent, std::move(done));
    const std::string_view key = asked->wanted.key;
    servers_->ask(key, std::move(request),
                  [this, asked = std::move(asked)](const reply& raw) { answered_plainly(*asked, raw); });
}

void peer_store::answered_plainly(plain_request& asked, const reply& raw) {
    using enum spi::claim_answer::verdict;
    if (raw.is == reply::kind::null) return refused_plainly(asked);
    const peer_claim& claim = asked.wanted;
    spi::claim_answer with = how_->read_claim(raw, claim, asked.sent);
    std::optional<std::string> channel;
    bool late = false;  // its release has overtaken it
    {
        std::scoped_lock guard{mutex_};
        note(claim, sent_claims::by::plain_command, with);
        late = with.is == granted && late_.came(claim.id);
        if (with.is != unknown) channel = waiting_.remove(claim.id);
    }
    if (late) servers_->ask(claim.key, how_->release_call(claim.key, claim.id, false), [](const reply&) {});
    if (channel) servers_->leave(claim.key, *channel);
    asked.done(std::move(with));
}

void peer_store::refused_plainly(plain_request& asked) {
    bool goes_on = false;
    {
        std::scoped_lock guard{mutex_};
        crowded_until(asked.wanted.key) = context_.clock.now() + crowded_for;
        goes_on = sent_.goes_on_by_script(asked.wanted.id);
    }
    peer_claim& mine = asked.wanted;
    if (!goes_on)
        return answer(std::move(mine), {.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled},
                      std::move(asked.done));
    send_script(mine, [this, mine, done = std::move(asked.done)](spi::claim_answer with) mutable {
        answer(std::move(mine), std::move(with), std::move(done));
    });
}

void peer_store::ask(peer_claim wanted, spi::reply<spi::claim_answer> done) {
    {
        std::scoped_lock guard{mutex_};
        sent_.asked(wanted.id, sent_claims::by::script);
    }
    send_script(std::move(wanted), std::move(done));
}

void peer_store::send_script(peer_claim wanted, spi::reply<spi::claim_answer> done) {
    const spi::time_point sent = context_.clock.now();
    const std::string key = wanted.key;
    const unsigned replicas = wanted.replicas;
    script_call request = how_->claim_call(wanted);
    auto answered = [this, wanted = std::move(wanted), sent, done = std::move(done)](const reply& raw,
                                                                                     unsigned have) mutable {
        using enum spi::claim_answer::verdict;
        spi::claim_answer answer = how_->read_claim(raw, wanted, sent);
        if (answer.is == granted && have < wanted.replicas) answer = not_durable(settings_, have, wanted.replicas);
        {
            std::scoped_lock guard{mutex_};
            note(wanted, sent_claims::by::script, answer);
        }
        done(std::move(answer));
    };
    servers_->ask_for(key, std::move(request), replicas, std::move(answered));
}

// With the mutex held.
void peer_store::note(const peer_claim& asked, sent_claims::by how, const spi::claim_answer& answer) {
    sent_.answered(asked.id, how, answer.is, {.own = asked.own, .replicas = asked.replicas});
}

// Listens first and looks then: it may have become free in between. Where nothing is told, the core polls. A claim that gives way
// does not look before (`no`): others, who have heard of the release, ask meanwhile.
void peer_store::wait(peer_claim waiting, std::optional<spi::claim_answer> no, spi::reply<spi::claim_answer> done) {
    using enum spi::claim_answer::verdict;
    const std::string key = waiting.key;
    const std::string channel = how_->channel_of(waiting);
    bool first = false;
    {
        std::scoped_lock guard{mutex_};
        first = waiting_.add(waiting, channel);
    }
    if (!first && no) {
        no->is = queued;
        return done(*std::move(no));
    }
    if (!first) return ask_at_once(std::move(waiting), std::move(done));
    servers_->listen(
        key, channel,
        [this, waiting = std::move(waiting), no = std::move(no), done = std::move(done)](const reply& answer) mutable {
            bool waits = false;
            {
                std::scoped_lock guard{mutex_};
                waits = waiting_.contains(waiting.id);
            }
            if (!waits) return done({.is = unknown});  // released, or granted to its repeat
            if (!answer.failure() && !answer.error()) return begin(std::move(waiting), std::move(done));
            stop_waiting(waiting.key, waiting.id);
            if (no) return done(*std::move(no));
            ask_at_once(std::move(waiting), std::move(done));
        });
}

// The first look. Without an answer the core begins anew.
void peer_store::begin(peer_claim waiting, spi::reply<spi::claim_answer> done) {
    const std::string key = waiting.key;
    const claim_id id = waiting.id;
    look(std::move(waiting), [this, key, id, done = std::move(done)](spi::claim_answer answer) mutable {
        if (answer.is == spi::claim_answer::verdict::unknown) stop_waiting(key, id);
        done(std::move(answer));
    });
}

// A claim that waits. Granted or refused, it does so no more.
void peer_store::look(peer_claim waiting, spi::reply<spi::claim_answer> done) {
    ask(waiting, [this, waiting, done = std::move(done)](spi::claim_answer answer) mutable {
        using enum spi::claim_answer::verdict;
        if (answer.is == granted || answer.is == refused) {
            stop_waiting(waiting.key, waiting.id);
            return done(std::move(answer));
        }
        std::optional<peer_claim> again;
        {
            std::scoped_lock guard{mutex_};
            again = waiting_.answered(waiting.id);
        }
        if (answer.is == busy) answer.is = queued;
        done(std::move(answer));
        if (again) look_again(std::move(*again));
    });
}

void peer_store::heard(std::string_view channel, std::string_view message) {
    if (closed_ || !how_->may_be_free(message)) return;
    std::vector<peer_claim> due;
    {
        std::scoped_lock guard{mutex_};
        due = waiting_.heard(channel);
    }
    for (peer_claim& one : due) look_again(std::move(one));
}

// What is not granted now waits on, and the core asks for it from time to time.
void peer_store::look_again(peer_claim waiting) {
    const std::string name = waiting.name;
    const claim_id id = waiting.id;
    look(std::move(waiting), [this, name, id](const spi::claim_answer& answer) {
        if (answer.is == spi::claim_answer::verdict::granted) context_.events.granted(name, id, answer.grant);
    });
}

void peer_store::stop_waiting(std::string_view key, const claim_id& id) {
    std::optional<std::string> channel;
    {
        std::scoped_lock guard{mutex_};
        channel = waiting_.remove(id);
    }
    if (channel) servers_->leave(key, *channel);
}

void peer_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    auto sent = std::make_unique<sent_release>(how_->key_of(name), id, std::move(done));
    const std::string_view key = sent->key;
    std::optional<std::string> channel;
    bool kept = false;
    {
        std::scoped_lock guard{mutex_};
        channel = waiting_.remove(id);
        kept = sent_.releasing(id, context_.clock.now());
    }
    if (channel) servers_->leave(key, *channel);
    servers_->ask(key, how_->release_call(key, id, kept), [this, sent = std::move(sent)](const reply& answer) {
        sent->done(released(sent->key, sent->id, how_->read_release(answer)));
    });
}

spi::release_answer peer_store::released(const std::string& key, const claim_id& id, spi::release_answer answer) {
    const spi::time_point now = context_.clock.now();
    sent_claims::release_outcome outcome;
    {
        std::scoped_lock guard{mutex_};
        outcome = sent_.released(id, answer, now);
        if (outcome.may_come) late_.add(key, id, now);
    }
    if (outcome.may_come) watch_late_claims();
    return outcome.answer;
}

void peer_store::watch_late_claims() {
    std::optional<spi::time_point> next;
    std::weak_ptr<int> open;
    {
        std::scoped_lock guard{mutex_};
        next = late_.next();
        if (!next || closed_ || std::exchange(watching_late_, true)) return;
        open = open_;
    }
    context_.clock.at(*next, [this, open] {
        if (open.lock()) release_late_claims();
    });
}

void peer_store::release_late_claims() {
    std::vector<late_claims::late_claim> due;
    {
        std::scoped_lock guard{mutex_};
        watching_late_ = false;
        due = late_.due(context_.clock.now());
    }
    for (const late_claims::late_claim& one : due)
        servers_->ask(one.key, how_->release_call(one.key, one.id, false), [this, id = one.id](const reply& answer) {
            if (how_->read_release(answer) != spi::release_answer::released) return;
            std::scoped_lock guard{mutex_};
            late_.came(id);
        });
    watch_late_claims();
}

void peer_store::close() noexcept {
    {
        std::scoped_lock guard{mutex_};
        open_.reset();
    }
    routed_store::close();
}

unsigned peer_store::replicas_of(const claim_id& id) {
    std::scoped_lock guard{mutex_};
    return sent_.replicas_of(id);
}

}  // namespace

std::unique_ptr<spi::store> make_peer_store(std::unique_ptr<const peer_protocol> how, settings config,
                                            const spi::context& context) {
    return std::make_unique<peer_store>(std::move(how), std::move(config), context);
}

}  // namespace mortise::inline v0::stores::redis
