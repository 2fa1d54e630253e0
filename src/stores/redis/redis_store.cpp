#include "stores/redis/redis_store.hpp"

#include "stores/redis/lock_listing.hpp"
#include "stores/redis/messages.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/peer_store.hpp"
#include "stores/redis/redisson_protocol.hpp"
#include "stores/redis/renewer.hpp"
#include "stores/redis/routed_store.hpp"
#include "stores/redis/setnx_protocol.hpp"
#include "stores/redis/waiting_claims.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace mortise::inline v0::stores::redis {
namespace {

client_identity identity_of(const settings& config, const spi::context& context) {
    return {.prefix = config.prefix,
            .client = claim_id::random().hex().substr(0, 16),
            .host = context.host,
            .pid = context.pid,
            .receivers_count = config.shape != settings::topology::cluster};
}

class redis_store final : public routed_store {
public:
    redis_store(settings config, client_identity me, const spi::context& context)
        : routed_store(std::move(config), me.inbox(),
                       {.pushed = [this](std::string_view, std::string_view message) { pushed(message); },
                        .reconnected = [this] { reconnected(); }},
                       context),
          me_(std::move(me)),
          renewer_(
              {.key_of = [this](std::string_view name) { return key_of(settings_.prefix, name); }, .call = renew_call},
              settings_, servers_, context.clock, [this](const claim_id& id) { return replicas_of(id); }) {}
    ~redis_store() override { close(); }

    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        renewer_.renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    void list(spi::reply<spi::listing> done) override { list_locks(settings_.prefix, servers_, std::move(done)); }
    void list_part(std::string_view from, spi::reply<spi::listing> done) override {
        list_some_locks(settings_.prefix, servers_, from, std::move(done));
    }
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>) override;
    void raise_token(const spi::raise_request&, spi::reply<spi::raise_answer>) override;
    void recall_tokens(const spi::recall_request&, spi::reply<std::optional<spi::token_memory>>) override;

private:
    void pushed(std::string_view message);
    void reconnected();
    void note(const claim_id& id, const claim_reply& answer, spi::time_point sent, unsigned replicas);
    void confirm(const inbox_message& granted, const std::string& name, unsigned replicas);
    void stop_waiting(const claim_id& id);
    void stop_keeping(const claim_id& id);
    bool listens() const noexcept { return !waiting_.empty() || !kept_.empty(); }
    void forget(const claim_id& id);
    unsigned replicas_of(const claim_id& id);
    void schedule_heartbeat();
    void send_heartbeats();

    const client_identity me_;
    renewer renewer_;

    std::mutex mutex_;
    waiting_claims waiting_;
    std::unordered_set<claim_id> kept_;               // claims that are told when somebody else asks
    std::unordered_map<claim_id, unsigned> durable_;  // held claims, and how many replicas must have them
    bool heartbeat_due_ = false;
};

void redis_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    const std::string key = key_of(settings_.prefix, wanted.name);
    const spi::time_point sent = context_.clock.now();
    const unsigned replicas = std::max(settings_.replicas, wanted.replicas);
    if (wanted.queue || wanted.keeps_idle) {  // before it can be granted
        std::scoped_lock guard{mutex_};
        if (!listens()) servers_->expect_pushes(true);
        if (wanted.queue) waiting_.add(wanted.id, wanted.name, replicas);
        if (wanted.keeps_idle) kept_.insert(wanted.id);
    }
    script_call request = claim_call(me_, key, wanted, replicas > 0);
    auto answered = [this, id = wanted.id, claimed = wanted.capacity, keeps = wanted.keeps_idle,
                     instead = wanted.instead_of, sent, replicas,
                     done = std::move(done)](const reply& raw, unsigned have) mutable {
        using enum spi::claim_answer::verdict;
        claim_reply answer = read_claim(raw, sent, claimed);
        if (answer.answer.is == granted && have < replicas) answer.answer = not_durable(settings_, have, replicas);
        answer.answer.grant.told = keeps && answer.answer.is == granted;
        note(id, answer, sent, replicas);
        if (answer.answer.is == granted && instead != claim_id{}) forget(instead);
        if (answer.answer.is == queued) schedule_heartbeat();
        done(std::move(answer.answer));
    };
    servers_->ask_for(key, std::move(request), replicas, std::move(answered));
}

// Records the reply to a claim that may wait, or needs replicas.
void redis_store::note(const claim_id& id, const claim_reply& answer, spi::time_point sent, unsigned replicas) {
    using enum spi::claim_answer::verdict;
    std::scoped_lock guard{mutex_};
    if (answer.answer.is == granted && replicas > 0) durable_[id] = replicas;
    if (answer.answer.is == queued) {
        waiting_.note_time(id, sent, *answer.now);
    } else if (answer.answer.is != unknown) {
        stop_waiting(id);
    }
    if (answer.answer.is != granted && answer.answer.is != unknown) stop_keeping(id);
}

void redis_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    forget(id);
    const std::string key = key_of(settings_.prefix, name);
    servers_->ask(key, release_call(me_, key, id), [done = std::move(done)](const reply& answer) mutable {
        using enum spi::release_answer;
        if (answer.is != reply::kind::integer) return done(unknown);
        done(answer.number == 0 ? released : answer.number == 1 ? expired : taken_over);
    });
}

unsigned redis_store::replicas_of(const claim_id& id) {
    std::scoped_lock guard{mutex_};
    const auto it = durable_.find(id);
    return it != durable_.end() ? it->second : 0;
}

// A message to our inbox: a claim of ours was granted, or taken away.
void redis_store::pushed(std::string_view bytes) {
    const auto message = read_inbox_message(bytes);
    const auto name = message ? name_of(settings_.prefix, message->key) : std::nullopt;
    if (!name || closed_) return;
    if (message->is == inbox_message::news::wanted) return context_.events.wanted(*name, message->id);
    if (message->is == inbox_message::news::lost) {
        forget(message->id);
        return context_.events.lost(*name, message->id);
    }
    waiting_claims::pushed_grant verdict;
    {
        std::scoped_lock guard{mutex_};
        verdict = waiting_.judge(*message, context_.clock.now());
        if (verdict.counted_from) stop_waiting(message->id);
    }
    if (!verdict.counted_from) return confirm(*message, *name, verdict.replicas);
    spi::grant given{.counter = message->counter, .lease = message->lease, .counted_from = *verdict.counted_from};
    if (message->left < message->lease) given.grace = message->left;
    context_.events.granted(*name, message->id, given);
}

// A renewal says whether the grant is ours, and its lease counts from when that was sent.
void redis_store::confirm(const inbox_message& granted, const std::string& name, unsigned replicas) {
    const renewal_item mine{key_of(settings_.prefix, name), granted.id, granted.lease};
    const spi::grant given{.counter = granted.counter, .lease = granted.lease, .counted_from = context_.clock.now()};
    auto answered = [this, id = granted.id, name, given, replicas](const reply& answer, unsigned have) {
        if (answer.text != "1" || have < replicas) return;  // the core retries
        {
            std::scoped_lock guard{mutex_};
            stop_waiting(id);
            if (replicas > 0) durable_[id] = replicas;
        }
        context_.events.granted(name, id, given);
    };
    servers_->ask_for(mine.key, renew_call({&mine, 1}), replicas, std::move(answered));
}

// With the mutex held, as the next.
void redis_store::stop_waiting(const claim_id& id) {
    if (waiting_.remove(id) && !listens()) servers_->expect_pushes(false);
}

void redis_store::stop_keeping(const claim_id& id) {
    if (!kept_.empty() && kept_.erase(id) != 0 && !listens()) servers_->expect_pushes(false);
}

// It neither waits nor holds.
void redis_store::forget(const claim_id& id) {
    std::scoped_lock guard{mutex_};
    if (!durable_.empty()) durable_.erase(id);
    stop_waiting(id);
    stop_keeping(id);
}

void redis_store::reconnected() {
    {
        std::scoped_lock guard{mutex_};
        waiting_.forget_times();
    }
    context_.events.reconnected();
}

void redis_store::schedule_heartbeat() {
    {
        std::scoped_lock guard{mutex_};
        if (closed_ || std::exchange(heartbeat_due_, true)) return;
    }
    context_.clock.at(context_.clock.now() + heartbeat_every, [this] {
        if (!closed_) send_heartbeats();
    });
}

// One for each name that a claim of ours waits for.
void redis_store::send_heartbeats() {
    std::map<std::string, std::vector<claim_id>> names;
    {
        std::scoped_lock guard{mutex_};
        heartbeat_due_ = false;
        names = waiting_.by_name();
    }
    if (names.empty()) return;
    const spi::time_point sent = context_.clock.now();
    for (auto& [name, ids] : names) {
        const std::string key = key_of(settings_.prefix, name);
        servers_->ask(key, heartbeat_call(me_, key), [this, sent, ids = std::move(ids)](const reply& answer) {
            if (answer.is != reply::kind::integer) return;
            std::scoped_lock guard{mutex_};
            for (const claim_id& id : ids) waiting_.note_time(id, sent, server_time{answer.number});
        });
    }
    schedule_heartbeat();
}

void redis_store::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    const std::string key = key_of(settings_.prefix, which.name);
    servers_->ask(key, break_call(me_, key, which.counter), [done = std::move(done)](const reply& answer) mutable {
        using enum spi::break_answer;
        done(answer.is == reply::kind::text ? broken : answer.is == reply::kind::null ? not_held : unknown);
    });
}

// Only a single server: a replica that takes over may have forgotten some tokens, and not all.
void redis_store::raise_token(const spi::raise_request& which, spi::reply<spi::raise_answer> done) {
    if (!promises_.raises_tokens) return routed_store::raise_token(which, std::move(done));
    const std::string key = key_of(settings_.prefix, which.name);
    servers_->ask(key, raise_call(me_, key, memory_key_of(settings_.prefix), which),
                  [done = std::move(done)](const reply& answer) mutable { done(read_raise(answer)); });
}

void redis_store::recall_tokens(const spi::recall_request& asked, spi::reply<std::optional<spi::token_memory>> done) {
    if (!promises_.raises_tokens) return routed_store::recall_tokens(asked, std::move(done));
    const std::string memory = memory_key_of(settings_.prefix);
    servers_->ask(memory, recall_call(memory, asked),
                  [done = std::move(done)](const reply& answer) mutable { done(read_recall(answer)); });
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [config = settings::of(address)](const spi::context& context) -> std::unique_ptr<spi::store> {
        settings mine = config;
        mine.strict = context.strict;
        if (mine.protocol != settings::layout::native) {
            auto how =
                mine.protocol == settings::layout::setnx ? make_setnx_protocol(mine) : make_redisson_protocol(mine);
            return make_peer_store(std::move(how), std::move(mine), context);
        }
        client_identity me = identity_of(mine, context);
        return std::make_unique<redis_store>(std::move(mine), std::move(me), context);
    };
}

}  // namespace mortise::inline v0::stores::redis
