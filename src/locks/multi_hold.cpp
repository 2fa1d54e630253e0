#include "locks/multi_hold.hpp"

#include "core/engine.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0 {
namespace {

core::hold_keeper& home_of(const hold& one) noexcept {
    return core::claimant::of(one)->keeper();
}

int badness(release_result result) noexcept {
    switch (result) {
        case release_result::released:
            return 0;
        case release_result::expired:
            return 1;
        case release_result::taken_over:
            return 2;
        case release_result::sent:
            return 1;
        case release_result::unknown:
            break;
    }
    return 3;
}

// Of several results: the worst, or of copies of one lock the best.
class combined_result {
public:
    explicit combined_result(valid_while rule) noexcept : best_(rule == valid_while::any) {}

    void add(release_result one, std::error_code why) noexcept {
        const bool counts =
            std::exchange(first_, false) || (best_ ? badness(one) < badness(result_) : badness(one) > badness(result_));
        if (counts) result_ = one;
        if (best_ ? counts : static_cast<bool>(why)) why_ = why;
    }
    release_result result() const noexcept { return result_; }
    std::error_code why() const noexcept { return why_; }

private:
    const bool best_;
    bool first_ = true;
    release_result result_ = release_result::released;
    std::error_code why_;
};

}  // namespace

multi_hold::state::state(std::vector<hold> taken, valid_while how) : holds(std::move(taken)), rule(how) {}

bool multi_hold::state::forked() const noexcept {
    return home_of(holds.front()).forked();
}

void multi_hold::state::watch(const std::shared_ptr<state>& all) {
    for (hold& one : all->holds)
        one.on_lost([weak = std::weak_ptr(all), home = &home_of(one), name = one.name()] {
            if (const auto self = weak.lock()) self->lose(*home, name);
        });
}

void multi_hold::state::lose(core::hold_keeper& where, const std::string& name) {
    bool last = true;
    {
        std::scoped_lock guard{mutex};
        ++losses;
        last = !any() || losses == holds.size();
        if (released || lost_at != nullptr) return;
        if (last) lost_at = &where;
    }
    if (!last) return where.notifications().emit(event_kind::at_risk, name, {}, errc::lost);
    stop.request_stop();
    if (!any()) {
        // Those that ended by themselves are left to release(): a store that does not answer must not delay the callbacks.
        std::scoped_lock guard_of_release{releasing};
        for (auto one = holds.rbegin(); one != holds.rend(); ++one)
            if (one->valid()) one->release();
    }
    tell_lost();
}

void multi_hold::state::tell_lost() {
    while (true) {
        unique_function<void()> call;
        {
            std::scoped_lock guard{mutex};
            if (released || calls.empty()) return;
            call = std::move(calls.front());
            calls.erase(calls.begin());
        }
        try {
            call();
        } catch (...) {
        }
    }
}

release_result multi_hold::state::release(std::error_code& ec) noexcept {
    ec.clear();
    if (forked()) {
        ec = errc::forked;
        return release_result::unknown;
    }
    {
        std::scoped_lock guard{mutex};
        released = true;
    }
    std::scoped_lock guard_of_release{releasing};
    combined_result together{rule};
    for (auto one = holds.rbegin(); one != holds.rend(); ++one) {
        std::error_code why;
        const release_result result = one->release(why);
        together.add(result, why);
    }
    ec = together.why();
    return together.result();
}

// All at once, the last taken first; the last answer is passed on.
void multi_hold::state::start_release(release_completion done) {
    struct tally {
        tally(std::size_t count, valid_while how, release_completion then)
            : open(count), together(how), done(std::move(then)) {}
        std::mutex mutex;
        std::size_t open;
        combined_result together;
        release_completion done;
    };
    {
        std::scoped_lock guard{mutex};
        released = true;
    }
    const auto all = std::make_shared<tally>(holds.size(), rule, std::move(done));
    for (std::size_t i = holds.size(); i-- > 0;)
        holds[i].start_release([all](release_result result, std::error_code why) {
            {
                std::scoped_lock guard{all->mutex};
                all->together.add(result, why);
                if (--all->open > 0) return;
            }
            all->done(all->together.result(), all->together.why());
        });
}

multi_hold::multi_hold() noexcept = default;
multi_hold::multi_hold(std::shared_ptr<state> granted) noexcept : state_(std::move(granted)) {}
multi_hold::multi_hold(multi_hold&&) noexcept = default;

multi_hold& multi_hold::operator=(multi_hold&& other) noexcept {
    if (this != &other) {
        multi_hold before{std::move(state_)};
        state_ = std::move(other.state_);
    }
    return *this;
}

multi_hold::~multi_hold() {
    if (!state_) return;
    if (state_->forked()) {
        new std::shared_ptr<state>(std::move(state_));  // the parent's: leaked, not closed
        return;
    }
    {
        std::scoped_lock guard{state_->mutex};
        state_->released = true;
    }
    std::scoped_lock guard_of_release{state_->releasing};
    while (!state_->holds.empty()) state_->holds.pop_back();  // the last taken first; detached ones stay
}

bool multi_hold::valid() const noexcept {
    if (!state_) return false;
    return state_->any() ? std::ranges::any_of(state_->holds, &hold::valid)
                         : std::ranges::all_of(state_->holds, &hold::valid);
}

bool multi_hold::at_risk() const noexcept {
    return state_ && state_->any() && valid() && !std::ranges::all_of(state_->holds, &hold::valid);
}

boot_clock::time_point multi_hold::valid_until() const noexcept {
    if (!state_) return boot_clock::time_point::min();
    auto until = state_->holds.front().valid_until();
    for (const hold& one : state_->holds)
        until = state_->any() ? std::max(until, one.valid_until()) : std::min(until, one.valid_until());
    return until;
}

std::chrono::nanoseconds multi_hold::remaining() const noexcept {
    if (!state_) return std::chrono::nanoseconds::zero();
    auto left = state_->holds.front().remaining();
    for (const hold& one : state_->holds)
        left = state_->any() ? std::max(left, one.remaining()) : std::min(left, one.remaining());
    return left;
}

std::stop_token multi_hold::lost() const {
    return state_ ? state_->stop.get_token() : std::stop_token{};
}

void multi_hold::on_lost(unique_function<void()> fn) {
    if (!state_ || !fn || state_->forked()) return;
    std::unique_lock guard{state_->mutex};
    if (state_->released) return;
    if (state_->lost_at == nullptr) {
        state_->calls.push_back(std::move(fn));
        return;
    }
    core::hold_keeper& where = *state_->lost_at;
    guard.unlock();
    where.notifications().post([fn = std::move(fn)]() mutable {
        try {
            fn();
        } catch (...) {
        }
    });
}

std::span<const hold> multi_hold::holds() const noexcept {
    return state_ ? std::span<const hold>{state_->holds} : std::span<const hold>{};
}

const hold& multi_hold::at(std::string_view name) const {
    for (const hold& one : holds())
        if (one.name() == name) return one;
    throw error(errc::not_owner, "lock '" + std::string(name) + "' is not among those held together");
}

const hold& multi_hold::at(const client& locks, std::string_view name) const {
    const core::hold_keeper* const asked = core::access::engine_of(locks).get();
    for (const hold& one : holds())
        if (one.name() == name && &home_of(one) == asked) return one;
    for (const hold& one : holds())  // through another client of the same store
        if (one.name() == name && home_of(one).shown_as() == locks.store()) return one;
    throw error(errc::not_owner,
                "lock '" + std::string(name) + "' (" + locks.store() + ") is not among those held together");
}

release_result multi_hold::release() noexcept {
    std::error_code ignored;
    return release(ignored);
}

release_result multi_hold::release(std::error_code& ec) noexcept {
    if (state_) return state_->release(ec);
    ec = errc::not_owner;
    return release_result::unknown;
}

void multi_hold::start_release(release_completion done) {
    core::check_completion(done);
    if (!state_) return done(release_result::unknown, errc::not_owner);
    state_->forked() ? done(release_result::unknown, errc::forked) : state_->start_release(std::move(done));
}

multi_hold::operator bool() const noexcept {
    return state_ && std::ranges::any_of(state_->holds, [](const hold& one) { return static_cast<bool>(one); });
}

std::string multi_attempt::describe() const {
    if (refusal_) return refusal_->describe();
    std::string text = "granted";
    for (const hold& one : hold_.holds()) text += (&one == hold_.holds().data() ? " " : "; ") + to_string(one);
    return text;
}

multi_hold& multi_attempt::value() & {
    if (refusal_) throw error(refusal_->reason, refusal_->describe());
    return hold_;
}

multi_hold multi_attempt::value() && {
    if (refusal_) throw error(refusal_->reason, refusal_->describe());
    return std::move(hold_);
}

}  // namespace mortise::inline v0
