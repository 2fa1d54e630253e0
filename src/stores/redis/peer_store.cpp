#include "stores/redis/peer_store.hpp"

#include "base/ended_claims.hpp"
#include "stores/redis/peer_waiters.hpp"
#include "stores/redis/renewer.hpp"
#include "stores/redis/routed_store.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

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
    void ask(peer_claim wanted, spi::reply<spi::claim_answer> done);
    void note(const peer_claim& asked, const spi::claim_answer& answer);
    void wait(peer_claim waiting, spi::claim_answer no, spi::reply<spi::claim_answer> done);
    void begin(peer_claim waiting, spi::reply<spi::claim_answer> done);
    void look(peer_claim waiting, spi::reply<spi::claim_answer> done);
    void heard(std::string_view channel, std::string_view message);
    void look_again(peer_claim waiting);
    void stop_waiting(std::string_view key, const claim_id& id);
    unsigned replicas_of(const claim_id& id);
    spi::release_answer released(const claim_id& id, spi::release_answer answer);

    const std::unique_ptr<const peer_protocol> how_;
    renewer renewer_;

    std::mutex mutex_;
    peer_waiters waiting_;
    std::unordered_map<claim_id, unsigned> durable_;  // held claims, and how many replicas must have them
    std::unordered_set<claim_id> own_;      // holds that no other client releases, and no request of which is out
    std::unordered_set<claim_id> doubted_;  // a request of which was not answered; until their release
    base::ended_claims<1024> unsure_;       // releases without an answer: the latest, of one outage
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
    ask(mine, [this, mine, done = std::move(done)](spi::claim_answer answer) mutable {
        if (answer.is == busy && mine.queue) return wait(std::move(mine), std::move(answer), std::move(done));
        if (answer.is != unknown) stop_waiting(mine.key, mine.id);
        done(std::move(answer));
    });
}

void peer_store::ask(peer_claim wanted, spi::reply<spi::claim_answer> done) {
    const spi::time_point sent = context_.clock.now();
    const std::string key = wanted.key;
    const unsigned replicas = wanted.replicas;
    script_call request = how_->claim_call(wanted);
    auto answered = [this, wanted = std::move(wanted), sent, done = std::move(done)](const reply& raw,
                                                                                     unsigned have) mutable {
        using enum spi::claim_answer::verdict;
        spi::claim_answer answer = how_->read_claim(raw, wanted, sent);
        if (answer.is == granted && have < wanted.replicas) answer = not_durable(settings_, have, wanted.replicas);
        note(wanted, answer);
        done(std::move(answer));
    };
    servers_->ask_for(key, std::move(request), replicas, std::move(answered));
}

// A request without an answer may yet arrive, also after the release: then that must be remembered there.
void peer_store::note(const peer_claim& asked, const spi::claim_answer& answer) {
    using enum spi::claim_answer::verdict;
    std::scoped_lock guard{mutex_};
    if (answer.is == unknown) doubted_.insert(asked.id);
    if (answer.is != granted) return;
    if (asked.own && !doubted_.contains(asked.id)) own_.insert(asked.id);
    if (asked.replicas > 0) durable_[asked.id] = asked.replicas;
}

// Listens first and looks once more then: it may have become free in between. Where nothing is told, the core polls.
void peer_store::wait(peer_claim waiting, spi::claim_answer no, spi::reply<spi::claim_answer> done) {
    bool listens = false;
    {
        std::scoped_lock guard{mutex_};
        listens = waiting_.contains(waiting.id);
    }
    if (listens) {
        no.is = spi::claim_answer::verdict::queued;
        return done(std::move(no));
    }
    const std::string key = waiting.key;
    const std::string channel = how_->channel_of(waiting);
    servers_->listen(key, channel,
                     [this, waiting = std::move(waiting), no = std::move(no), channel,
                      done = std::move(done)](const reply& answer) mutable {
                         if (answer.failure() || answer.error()) {
                             servers_->leave(waiting.key, channel);
                             return done(std::move(no));
                         }
                         {
                             std::scoped_lock guard{mutex_};
                             waiting_.add(waiting, std::move(channel));
                         }
                         begin(std::move(waiting), std::move(done));
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
    const std::string key = how_->key_of(name);
    stop_waiting(key, id);
    const bool own = [&] {
        std::scoped_lock guard{mutex_};
        return own_.contains(id);
    }();
    servers_->ask(key, how_->release_call(key, id, !own),
                  [this, id, done = std::move(done)](const reply& answer) mutable {
                      done(released(id, how_->read_release(answer)));
                  });
}

// One before this, which was not answered, may have ended it.
spi::release_answer peer_store::released(const claim_id& id, spi::release_answer answer) {
    using enum spi::release_answer;
    const spi::time_point now = context_.clock.now();
    std::scoped_lock guard{mutex_};
    if (answer == unknown) {
        unsure_.add(base::ended_claim::at(now, id, std::nullopt), now);
        return unknown;
    }
    const bool asked_before = unsure_.find(id, now) != nullptr;
    durable_.erase(id);
    own_.erase(id);
    doubted_.erase(id);
    return asked_before ? spi::release_answer::released : answer;
}

unsigned peer_store::replicas_of(const claim_id& id) {
    std::scoped_lock guard{mutex_};
    const auto it = durable_.find(id);
    return it != durable_.end() ? it->second : 0;
}

}  // namespace

std::unique_ptr<spi::store> make_peer_store(std::unique_ptr<const peer_protocol> how, settings config,
                                            const spi::context& context) {
    return std::make_unique<peer_store>(std::move(how), std::move(config), context);
}

}  // namespace mortise::inline v0::stores::redis
