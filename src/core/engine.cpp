#include "core/engine.hpp"

#include "base/limits.hpp"
#include "base/process.hpp"
#include "base/spare_blocks.hpp"
#include "core/blocking_call.hpp"
#include "core/io_clock.hpp"
#include "core/notifier_thread.hpp"

#include <mortise/duration.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::inline v0::core {
namespace {

client_options checked(client_options options) {
    base::check(options);
    if (options.label.empty()) options.label = base::program_name();
    return options;
}

// The one given, or one of our own, which we have to stop.
template <class Own, class Base>
std::shared_ptr<Base> given_or_own(std::shared_ptr<Base> given, Own*& own) {
    if (given) return given;
    auto made = std::make_shared<Own>();
    own = made.get();
    return made;
}

}  // namespace

std::shared_ptr<engine> engine::make(const spi::store_factory& store, spi::world around, client_options options,
                                     std::string shown_as) {
    auto made =
        std::make_shared<engine>(pass{}, store, std::move(around), checked(std::move(options)), std::move(shown_as));
    made->watchdog_->call([weak = made->weak_from_this()] {
        const auto self = weak.lock();
        return self ? self->requester_.look() : spi::time_point::max();
    });
    made->requester_.belong_to(made);
    made->detector_.belong_to(made);
    return made;
}

engine::engine(pass, const spi::store_factory& store, spi::world around, client_options options, std::string shown_as)
    : options_(std::move(options)),
      host_(base::host_name()),
      clock_(given_or_own(std::move(around.clock), own_clock_)),
      notifier_(given_or_own(std::move(around.notifier), own_notifier_)),
      store_(store(spi::context{*clock_, *this, host_, base::process_id(), options_.strict})),
      policy_(options_, store_->promises(), std::move(shown_as)),
      notifications_(
          std::make_shared<core::notifications>(clock_, notifier_, options_.observer, base::fork_generation())),
      link_{*store_, *clock_, *notifications_, options_, base::fork_generation()},
      watchdog_(std::make_shared<watchdog>(clock_)),
      replies_(std::make_shared<pending_replies>(clock_)),
      table_(policy_, {host_, base::process_id()}, *notifications_, *watchdog_, releases_),
      listeners_(table_, *notifications_),
      requester_(table_, link_, listeners_, releases_),
      releaser_(table_, requester_, link_, *replies_, releases_),
      queries_(policy_, link_, replies_, host_),
      detector_(policy_, table_, requester_, link_) {
    if (options_.require_token && !store_->promises().tokens)
        throw error(errc::no_token,
                    "store " + policy_.shown_as() + " has no fencing tokens, and require_token demands them");
}

engine::~engine() = default;

void engine::start(claim wanted, unique_function<void(attempt)> done, const std::shared_ptr<claimant>& instead_of) {
    if (forked()) return done(policy_.refuse(errc::forked, wanted.name));
    if (auto no = policy_.objection(wanted)) return done(*std::move(no));
    const auto wait = wanted.options.wait;
    start(policy_.settled(wanted), wait, std::move(done), 0, instead_of, {});
}

void engine::start(settled_claim wanted, std::optional<spi::duration> wait, unique_function<void(attempt)> done,
                   std::uint32_t wait_slot, const std::shared_ptr<claimant>& instead_of, const called_by& by) {
    if (!awake_.load(std::memory_order_relaxed)) {
        try {
            clock_->at(clock_->now(), [] {});  // starts the io thread
        } catch (const error& e) {
            return done(refusal{.reason = e.code(), .detail = e.what()});
        }
        awake_.store(true, std::memory_order_relaxed);
    }

    const claim_terms& terms = *wanted.terms;
    const std::size_t name_hash = terms.name_hash;
    auto call = base::make_spared<claimant>();
    const spi::time_point now = clock_->now();
    call->since = now;
    call->waiting = std::make_unique<claimant::wait>();
    claimant::wait& w = *call->waiting;
    w.done = std::move(done);
    w.wait_slot = wait_slot;
    if (by.who != 0) {
        w.owner = by.who;
        w.frames = by.frames;
        w.thread = this_thread_number();
    }
    if (wait) {
        w.no_wait = *wait == spi::duration::zero();
        if (!w.no_wait && *wait < detail::for_ever) w.deadline = now + *wait;
    }
    notifications_->emit(event_kind::claimed, terms.name);

    // Before anybody else knows of the call; a stop that arrives first is noted, and seen by join().
    if (wanted.stop.stop_possible())
        w.on_stop.emplace(std::move(wanted.stop),
                          [this, self = weak_from_this(), caller = std::weak_ptr(call), of = name_hash] {
                              const auto home = self.lock();
                              const auto waiting = caller.lock();
                              engine* const me = this;  // the answer destroys what was captured
                              const std::size_t hash = of;
                              if (home && waiting) me->requester_.give_up(waiting, hash, errc::cancelled);
                          });

    const auto timed = w.deadline != spi::time_point::max() ? call : nullptr;
    actions todo;
    if (const auto too_late =
            table_.join(std::move(call), std::move(wanted.terms), shared_from_this(), instead_of.get(), now, todo)) {
        notifications_->emit(event_kind::refused, terms.name, {}, too_late);
        return requester_.answer(*call, policy_.refuse(too_late, terms.name));
    }
    requester_.run(std::move(todo));
    if (timed) requester_.watch_deadline(timed, name_hash);
}

attempt engine::acquire(claim wanted, const std::shared_ptr<claimant>& instead_of) {
    if (forked()) return policy_.refuse(errc::forked, wanted.name);
    if (auto no = policy_.objection(wanted)) return *std::move(no);
    const auto wait = wanted.options.wait;
    return acquire(policy_.settled(wanted), wait, {}, instead_of);
}

attempt engine::acquire(settled_claim wanted, std::optional<spi::duration> wait, const called_by& by,
                        const std::shared_ptr<claimant>& instead_of) {
    // Before the store is touched: its mutexes may be taken for ever by threads of the parent.
    if (forked()) return policy_.refuse(errc::forked, wanted.terms->name);
    struct caller : spi::sleeper {
        std::optional<attempt> result;
    };
    auto mine = base::make_spared<caller>();  // shared: whoever wakes it may be the last to look
    mine->wait_slot = this_thread_wait_slot();
    const blocking_call blocks{*store_};
    start(
        std::move(wanted), wait,
        [this, mine](attempt&& result) {
            mine->result.emplace(std::move(result));
            store_->wake(*mine);
        },
        mine->wait_slot, instead_of, by);
    if (mine->is.load() != spi::sleeper::answered) {
        if (by.who != 0) detector_.look_later();
        store_->sleep(*mine);
    }
    return std::move(*mine->result);
}

bool engine::keep(claimant& call) noexcept {
    const spi::time_point now = clock_->now();
    const spi::duration held_for = now - call.since.load(std::memory_order_relaxed);
    if (!call.keep(now)) return false;
    if (call.cohort->needs_look()) table_.look_after(call.cohort);
    notifications_->emit(event_kind::released, call.cohort->terms.name, call.token(), {}, held_for);
    return true;
}

bool engine::take_again(claimant& call) noexcept {
    if (!call.take_again(clock_->now())) return false;
    notifications_->emit(event_kind::claimed, call.cohort->terms.name);
    notifications_->emit(event_kind::granted, call.cohort->terms.name, call.token());
    return true;
}

release_result engine::release(const std::shared_ptr<claimant>& call, std::error_code& ec) noexcept {
    return releaser_.release(call, ec);
}

release_result engine::release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept {
    return releaser_.release(name, id, ec);
}

void engine::start_release(const std::shared_ptr<claimant>& call, release_completion done) {
    releaser_.start(call, std::move(done));
}

void engine::start_release(std::string_view name, const claim_id& id, release_completion done) {
    releaser_.start(name, id, std::move(done));
}

void engine::drop(const std::shared_ptr<claimant>& call) noexcept {
    releaser_.drop(call);
}

std::stop_token engine::lost_token(claimant& call) {
    return listeners_.token_of(call);
}

void engine::on_lost(const std::shared_ptr<claimant>& call, unique_function<void()> listener) {
    listeners_.add(call, std::move(listener));
}

void engine::granted(std::string_view name, const claim_id& id, const spi::grant& given) {
    if (!forked()) requester_.granted(name, id, given);
}

void engine::lost(std::string_view name, const claim_id& id) {
    if (!forked()) requester_.lost(name, id);
}

void engine::wanted(std::string_view name, const claim_id& id) {
    if (!forked()) requester_.wanted(name, id);
}

void engine::reconnected() {
    if (!link_.ended()) requester_.reconnected();
}

std::vector<spi::admitted_claim> engine::admitted() {
    using stage = spi::admitted_claim::stage;
    std::vector<spi::admitted_claim> all;
    if (forked()) return all;
    table_.each([&](const std::shared_ptr<cohort>& c) {
        all.push_back({c->terms.name, c->id, c->is == cohort::state::held ? stage::holding : stage::waiting});
    });
    // After the cohorts: a claim that is left in between is seen twice, and not missed.
    for (auto& one : releases_.unanswered()) all.push_back(std::move(one));
    return all;
}

void engine::close() noexcept {
    if (link_.closed.exchange(true)) return;
    // One deadline for everything.
    const auto until = std::chrono::steady_clock::now() + options_.close_wait;
    releaser_.close(options_.close_wait);
    link_.shut.store(true);
    watchdog_->stop();
    if (own_clock_ != nullptr) own_clock_->stop();
    store_->close();
    replies_->give_up_all();
    const auto left = until - std::chrono::steady_clock::now();
    if (own_notifier_ != nullptr) own_notifier_->stop(std::max<spi::duration>(left, spi::duration::zero()));
}

}  // namespace mortise::inline v0::core
