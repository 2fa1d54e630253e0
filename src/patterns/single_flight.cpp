#include "patterns/companions.hpp"
#include "patterns/freshness.hpp"
#include "patterns/inside.hpp"
#include "patterns/lock_name.hpp"
#include "patterns/requirements.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/duration.hpp>
#include <mortise/error.hpp>
#include <mortise/patterns/single_flight.hpp>
#include <mortise/shared_mutex.hpp>

#include <algorithm>
#include <random>

namespace mortise::inline v0 {
namespace {

using patterns::companions;
using patterns::freshness;
using value = std::optional<std::string>;

constexpr int most_rebuilds = 3;  // of one caller, each of them too late

// Sums of them do not overflow.
flight_options bounded_lives(flight_options all) {
    for (auto* const each : {&all.fresh_for, &all.nothing_for, &all.stale_for})
        *each = std::min(*each, detail::for_ever);
    return all;
}

double roll() {
    thread_local std::minstd_rand dice{std::random_device{}()};
    return std::uniform_real_distribution<double>{}(dice);
}

}  // namespace

struct single_flight::body {
    static constexpr const char* pattern = "single_flight";

    client& locks;
    fenced_storage& cache;
    const std::string name;
    const flight_options how;
    companions here{how.rebuild_within};

    claim_options terms() const {
        return {.lease = how.rebuild_within,
                .renew = renew::off,
                .release = release_mode::lazy,
                .require_token = true,
                .label = pattern};
    }
    shared_mutex lock_of(std::string_view key) const {
        return shared_mutex{locks, patterns::lock_name(name, key), terms()};
    }

    value get(std::string_view key, rebuild& make);
    std::optional<value> ahead(std::string_view key, rebuild& make, double dice);
    std::optional<value> in_turn(std::string_view key, rebuild& make,
                                 const std::optional<boot_clock::time_point>& deadline);
    std::optional<value> of_companion(std::string_view key, companions::flight& other,
                                      const std::optional<boot_clock::time_point>& deadline) const;
    std::optional<value> fresh(std::string_view key, double dice = 0) const;
    std::optional<value> rebuilt(std::string_view key, hold& mine, rebuild& make);
    hold in_time(std::string_view key, attempt got) const;
    [[noreturn]] void too_late(std::string_view key) const;
    [[noreturn]] void always_late(std::string_view key) const;
};

value single_flight::body::get(std::string_view key, rebuild& make) {
    std::optional<boot_clock::time_point> deadline;
    if (how.wait) deadline = boot_clock::now() + detail::bounded(*how.wait);
    int made = 0;
    rebuild counted = [&] { return ++made, make(); };
    for (;;) {
        const std::optional<fenced_storage::entry> found = cache.read(key);
        const double dice = roll();
        const freshness is = patterns::freshness_of(found, how, dice);
        if (is == freshness::fresh) return patterns::unpacked(found->bytes);
        if (is != freshness::gone) return ahead(key, counted, dice).value_or(patterns::unpacked(found->bytes));
        if (made == most_rebuilds) always_late(key);
        if (const auto got = in_turn(key, counted, deadline)) return *got;
    }
}

// Whoever gets the lock at once rebuilds; the others have something to serve.
std::optional<value> single_flight::body::ahead(std::string_view key, rebuild& make, double dice) {
    shared_mutex lock = lock_of(key);
    std::shared_ptr<companions::flight> other;
    const auto mine = here.lead(key, other);
    if (!mine) return std::nullopt;
    attempt got = lock.try_acquire();
    if (!got) return std::nullopt;
    if (std::optional<value> found = fresh(key, dice)) return found;  // somebody else was faster
    return rebuilt(key, *got, make);
}

// Those who find somebody rebuilding wait as readers: they are let in together when it is done, not one by one. If it was not
// done, they stand in line.
std::optional<value> single_flight::body::in_turn(std::string_view key, rebuild& make,
                                                  const std::optional<boot_clock::time_point>& deadline) {
    shared_mutex lock = lock_of(key);
    patterns::refuse_reentry(locks, lock.name(), pattern, name, key);
    std::shared_ptr<companions::flight> other;
    const auto mine = here.lead(key, other);
    if (!mine) return of_companion(key, *other, deadline);
    const auto left = [&] { return deadline ? detail::until(*deadline) : detail::for_ever; };
    attempt got = lock.try_acquire();
    if (got.reason() == errc::busy) {
        hold reading = in_time(key, lock.try_acquire_shared({.wait = left()}));
        if (std::optional<value> found = fresh(key)) {
            mine->land(found, std::move(reading));
            return found;
        }
        reading.release();
        got = in_time(key, lock.try_acquire({.wait = left()}));
    }
    hold& held = got.value();  // or throws why not
    std::optional<value> found = fresh(key);
    if (!found) found = rebuilt(key, held, make);
    mine->close();  // while nobody can invalidate what was found
    held.release();
    mine->land(found);
    return found;
}

std::optional<value> single_flight::body::of_companion(std::string_view key, companions::flight& other,
                                                       const std::optional<boot_clock::time_point>& deadline) const {
    const boot_clock::time_point overdue = here.overdue(other);
    if (other.await(deadline ? std::min(*deadline, overdue) : overdue)) return other.result();
    if (deadline && *deadline <= overdue) too_late(key);
    return std::nullopt;
}

std::optional<value> single_flight::body::fresh(std::string_view key, double dice) const {
    const std::optional<fenced_storage::entry> found = cache.read(key);
    if (patterns::freshness_of(found, how, dice) != freshness::fresh) return std::nullopt;
    return patterns::unpacked(found->bytes);
}

// Nothing: somebody else has taken over, and will have stored something.
std::optional<value> single_flight::body::rebuilt(std::string_view key, hold& mine, rebuild& make) {
    const token fence = mine.token();
    if (!cache.seal(key, fence)) {
        if (mine.valid()) patterns::seal_refused(mine, pattern, name, key);
        return std::nullopt;
    }
    const patterns::inside rebuilding{locks, mine.name()};
    value made = make();
    const auto life = made ? how.fresh_for : how.nothing_for;
    const bool stored = cache.write(key, fence, patterns::packed(made), life + how.stale_for);
    // A cache that has forgotten the seal stores nothing; but the value is not late.
    if (!stored && !mine.valid()) return std::nullopt;
    return made;
}

// Or throws why not. Nothing may be left of the wait when the lock is asked for, and then it is only tried.
hold single_flight::body::in_time(std::string_view key, attempt got) const {
    if (got.reason() == errc::busy) too_late(key);
    return std::move(got.value());
}

void single_flight::body::too_late(std::string_view key) const {
    throw error(errc::timed_out, patterns::called(pattern, name) + ": " + patterns::shown(key) +
                                     " is being rebuilt for longer than this caller waits (flight_options::wait)");
}

void single_flight::body::always_late(std::string_view key) const {
    throw error(errc::lost, patterns::called(pattern, name) + ": this caller has rebuilt " + patterns::shown(key) +
                                " " + std::to_string(most_rebuilds) +
                                " times, and each took longer than flight_options::rebuild_within, so that another "
                                "took over; set it longer than a rebuild takes");
}

single_flight::single_flight(client& locks, fenced_storage& cache, std::string name, flight_options options)
    : body_(new body{locks, cache, std::move(name), bounded_lives(options)}) {
    patterns::require_tokens(locks, body::pattern, body_->name);
    patterns::require_shared(locks, body::pattern, body_->name);
    patterns::require(locks.promises().leases, locks, body::pattern, body_->name, "leases");
    patterns::require_name(locks, body::pattern, body_->name, patterns::longest_lock_name(body_->name));
    patterns::require_lease(locks, options.rebuild_within, "rebuild_within", body::pattern, body_->name);
    patterns::require_wait(options.wait, body::pattern, body_->name);
    const auto zero = std::chrono::nanoseconds::zero();
    if (options.fresh_for <= zero || options.nothing_for < zero || options.stale_for < zero ||
        !(options.early >= 0 && options.early <= 1))
        patterns::refuse_option(
            body::pattern, body_->name,
            "fresh_for must be positive, nothing_for and stale_for not negative, early between 0 and 1");
}

single_flight::~single_flight() = default;

value single_flight::get(std::string_view key, rebuild make) {
    if (!make) patterns::refuse_option(body::pattern, body_->name, "it needs a function that rebuilds");
    patterns::refuse_child(body_->locks, body::pattern, body_->name);
    return body_->get(key, make);
}

void single_flight::invalidate(std::string_view key) {
    patterns::refuse_reentry(body_->locks, patterns::lock_name(body_->name, key), body::pattern, body_->name, key);
    const hold mine = body_->lock_of(key).acquire({.wait = body_->how.wait});
    if (!body_->cache.seal(key, mine.token())) {
        if (mine.valid()) patterns::seal_refused(mine, body::pattern, body_->name, key);
        return;  // somebody who came later rebuilds
    }
    static_cast<void>(body_->cache.write(key, mine.token(), {}, std::chrono::nanoseconds{1}));
}

}  // namespace mortise::inline v0
