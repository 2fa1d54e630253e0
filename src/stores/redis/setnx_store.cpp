#include "stores/redis/setnx_store.hpp"

#include "base/ended_claims.hpp"
#include "stores/redis/diagnostics.hpp"
#include "stores/redis/promises.hpp"
#include "stores/redis/renewer.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/setnx_calls.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

class setnx_store final : public spi::store {
public:
    setnx_store(settings config, const spi::context& context)
        : settings_(std::move(config)),
          context_(context),
          sockets_(context.clock),
          servers_(router::make(settings_, {}, {.pushed = {}, .reconnected = [this] { context_.events.reconnected(); }},
                                context.clock, sockets_)),
          renewer_({.key_of = [this](std::string_view name) { return key_of(name); }, .call = setnx_renew_call},
                   settings_, servers_, context.clock, [this](const claim_id& id) { return replicas_of(id); }) {}
    ~setnx_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        renewer_.renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    // A late renewal may extend an abandoned lease once more.
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease ? std::optional{2 * *lease} : std::nullopt;
    }
    void list(spi::reply<spi::listing> done) override { done({.failed = errc::unsupported}); }
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer> done) override {
        done(spi::break_answer::unsupported);
    }
    void check(spi::reply<std::vector<finding>> done) override {
        diagnose_servers(settings_, servers_, context_.clock, std::move(done));
    }
    void will_sleep(bool whether) noexcept override { connection::will_wait(whether); }
    void sleep(spi::sleeper& sleeper) override { servers_->wait(sleeper); }
    void wake(spi::sleeper& sleeper) noexcept override;
    void close() noexcept override;

private:
    std::string key_of(std::string_view name) const { return settings_.key_prefix + std::string(name); }
    unsigned replicas_of(const claim_id& id);
    spi::release_answer released(const claim_id& id, const reply& answer);

    const settings settings_;
    const mortise::promises promises_ = promises_of(settings_);
    const spi::context context_;
    poller sockets_;
    const std::shared_ptr<router> servers_;
    renewer renewer_;
    std::atomic<bool> closed_{false};

    std::mutex mutex_;
    std::unordered_map<claim_id, unsigned> durable_;  // held claims, and how many replicas must have them
    std::unordered_set<claim_id> own_;                // holds that no other client releases
    base::ended_claims<1024> unsure_;                 // releases without an answer: the latest, of one outage
};

// The core asks again when it may be free: nothing waits in the server.
void setnx_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    const std::string key = key_of(wanted.name);
    const spi::time_point sent = context_.clock.now();
    const unsigned replicas = std::max(settings_.replicas, wanted.replicas);
    const spi::duration lease = wanted.lease.value_or(*promises_.default_lease);
    const bool own = wanted.kept_by == kept_by::process;
    auto answered = [this, id = wanted.id, own, lease, sent, replicas, done = std::move(done)](const reply& raw,
                                                                                               unsigned have) mutable {
        using enum spi::claim_answer::verdict;
        spi::claim_answer answer = read_setnx_claim(raw, lease, sent);
        if (answer.is == granted && have < replicas) answer = not_durable(settings_, have, replicas);
        if (answer.is == granted) {
            std::scoped_lock guard{mutex_};
            if (own) own_.insert(id);
            if (replicas > 0) durable_[id] = replicas;
        }
        done(std::move(answer));
    };
    servers_->ask_for(key, setnx_claim_call(key, wanted.id, lease), replicas, std::move(answered));
}

void setnx_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    const std::string key = key_of(name);
    const bool own = [&] {
        std::scoped_lock guard{mutex_};
        return own_.contains(id);
    }();
    servers_->ask(key, setnx_release_call(key, id, !own),
                  [this, id, done = std::move(done)](const reply& answer) mutable { done(released(id, answer)); });
}

// One before this, which was not answered, may have deleted the key.
spi::release_answer setnx_store::released(const claim_id& id, const reply& answer) {
    using enum spi::release_answer;
    const spi::time_point now = context_.clock.now();
    std::scoped_lock guard{mutex_};
    if (answer.is != reply::kind::integer) {
        unsure_.add(base::ended_claim::at(now, id, std::nullopt), now);
        return unknown;
    }
    const bool asked_before = unsure_.find(id, now) != nullptr;
    durable_.erase(id);
    own_.erase(id);
    if (answer.number == 0 || asked_before) return spi::release_answer::released;
    return answer.number == 1 ? expired : taken_over;
}

unsigned setnx_store::replicas_of(const claim_id& id) {
    std::scoped_lock guard{mutex_};
    const auto it = durable_.find(id);
    return it != durable_.end() ? it->second : 0;
}

void setnx_store::wake(spi::sleeper& sleeper) noexcept {
    if (sleeper.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) {
        sleeper.is.notify_one();
    } else {
        servers_->nudge(sleeper);
    }
}

void setnx_store::close() noexcept {
    if (closed_.exchange(true)) return;
    sockets_.stop();
    servers_->close();
}

}  // namespace

std::unique_ptr<spi::store> make_setnx_store(settings config, const spi::context& context) {
    return std::make_unique<setnx_store>(std::move(config), context);
}

}  // namespace mortise::inline v0::stores::redis
