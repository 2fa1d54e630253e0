#include "core/engine.hpp"
#include "core/reentry.hpp"
#include "locks/multi_hold.hpp"

#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>

#include <algorithm>
#include <compare>
#include <deque>
#include <map>
#include <tuple>

namespace mortise::inline v0 {
namespace {

using std::chrono::nanoseconds;

struct part {
    std::shared_ptr<core::engine> engine;
    std::shared_ptr<core::reentry> frames;
    claim wanted;
    core::reentry::place place;

    part(const client& locks, std::string_view name, const claim_options& options)
        : engine(core::access::engine_of(locks)),
          frames(core::access::frames_of(locks)),
          wanted{.name = std::string(name), .options = options},
          place(wanted.name) {
        wanted.options.wait.reset();
        engine->check(wanted);
    }
    part(const part&) = delete;
    part& operator=(const part&) = delete;

    const std::string& name() const noexcept { return wanted.name; }
    const std::string& address() const noexcept { return engine->shown_as(); }
    // One address is one store. Stores given as objects (spi::make_client) have none, and only a client is like itself.
    bool addressed() const noexcept { return !address().starts_with('('); }

    bool same_as(const part& other) const noexcept {
        return name() == other.name() && address() == other.address() && (addressed() || engine == other.engine);
    }
};

bool before(const std::unique_ptr<part>& a, const std::unique_ptr<part>& b) {
    const auto order = std::tie(a->address(), a->name()) <=> std::tie(b->address(), b->name());
    return order != 0 ? order < 0 : !a->addressed() && a->engine < b->engine;
}

// What is left of the caller's wait; every name is asked with the same deadline.
class countdown {
public:
    countdown(const spi::clock& clock, std::optional<nanoseconds> wait) : clock_(clock), wait_(wait) {
        if (wait_ && *wait_ > nanoseconds::zero() && *wait_ < detail::for_ever) deadline_ = clock.now() + *wait_;
    }
    std::optional<nanoseconds> left() const {
        if (!deadline_) return wait_;
        return std::max(*deadline_ - clock_.now(), nanoseconds::zero());
    }
    // Who wanted to wait is told that time ran out, also if none was left for the last name.
    std::error_code reason(std::error_code why) const { return deadline_ && why == errc::busy ? errc::timed_out : why; }

private:
    const spi::clock& clock_;
    const std::optional<nanoseconds> wait_;
    std::optional<boot_clock::time_point> deadline_;
};

// Ends the wait for a name when the caller says so or when one that is held already is lost.
class wait_end {
public:
    explicit wait_end(std::stop_token caller) : caller_(std::move(caller)) { end_with(caller_); }

    void end_with(std::stop_token other) {
        if (other.stop_possible()) links_.emplace_back(std::move(other), [this] { either_.request_stop(); });
    }
    std::stop_token token() const { return either_.get_token(); }
    bool by_caller() const { return caller_.stop_requested(); }

private:
    std::stop_token caller_;
    std::stop_source either_;
    std::deque<std::stop_callback<std::function<void()>>> links_;
};

// What try_lock answers with false.
bool just_busy(std::error_code why) noexcept {
    return why == errc::busy || why == errc::timed_out || why == errc::would_deadlock;
}

void give_back(std::vector<hold>& taken) noexcept {
    for (; !taken.empty(); taken.pop_back()) taken.back().release();  // also a detached one, which would stay
}

}  // namespace

struct multi_lock::body {
    explicit body(std::vector<std::unique_ptr<part>> given) : parts(std::move(given)) {
        if (parts.empty()) throw error(errc::invalid_option, "multi_lock without a name: give at least one");
        std::stable_sort(parts.begin(), parts.end(), before);
        const auto repeats =
            std::unique(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a->same_as(*b); });
        parts.erase(repeats, parts.end());
        for (const auto& one : parts) names.push_back(one->name());
    }
    ~body();
    body(const body&) = delete;
    body& operator=(const body&) = delete;

    multi_attempt acquire(std::optional<nanoseconds> wait) const;
    std::optional<refusal> lock(std::optional<nanoseconds> wait);  // none: locked
    std::error_code unlock() noexcept;

    static multi_attempt refused(const part& at, std::error_code why, const std::string& what = {}) {
        return {at.engine->refuse(why, at.name(), what), at.name()};
    }
    // Fork takes all clients of a process along, so one speaks for all.
    bool forked() const noexcept { return parts.front()->engine->forked(); }

    std::vector<std::unique_ptr<part>> parts;
    std::vector<std::string> names;

    mutable std::mutex mutex;
    std::map<core::owner_key, multi_hold> inside;  // the mutex form: what each thread holds
};

multi_attempt multi_lock::body::acquire(std::optional<nanoseconds> wait) const {
    const countdown time{parts.front()->engine->clock(), wait};
    std::vector<mortise::hold> taken;
    taken.reserve(parts.size());
    wait_end end{parts.front()->wanted.options.stop};

    const auto lost_one = [&]() -> const part* {  // meanwhile
        for (std::size_t i = 0; i < taken.size(); ++i)
            if (!taken[i].valid()) return parts[i].get();
        return nullptr;
    };
    try {
        for (const auto& one : parts) {
            claim wanted = one->wanted;
            wanted.options.wait = time.left();
            if (!taken.empty()) wanted.options.stop = end.token();
            attempt got = one->engine->acquire(std::move(wanted));
            const part* const lost = lost_one();
            if (got && lost == nullptr) {
                taken.push_back(*std::move(got));
                if (parts.size() > 1) end.end_with(taken.back().lost());
                continue;
            }
            const bool cut_short = got.reason() == errc::cancelled && !end.by_caller();
            if (got) got->release();
            give_back(taken);
            if (lost != nullptr && (got || cut_short))
                return refused(*lost, errc::lost, "it was lost while the others were waited for");
            refusal why = got.refusal();
            if (const auto reason = time.reason(why.reason); reason != why.reason) {
                why.detail = one->engine->refuse(reason, one->name()).detail;
                why.reason = reason;
            }
            return {std::move(why), one->name()};
        }
        const auto all = std::make_shared<multi_hold::state>(std::move(taken));
        multi_hold together{all};
        try {
            multi_hold::state::watch(all);
        } catch (...) {
            together.release();
            throw;
        }
        return together;
    } catch (const error& e) {  // no thread to be had
        give_back(taken);
        return {refusal{.reason = e.code(), .detail = e.what()}, parts.front()->name()};
    }
}

std::optional<refusal> multi_lock::body::lock(std::optional<nanoseconds> wait) {
    const core::owner_key me = core::this_thread_key();
    if (forked()) return refused(*parts.front(), errc::forked).refusal();
    for (const auto& one : parts)
        if (const core::reentry::frame* frame = one->frames->find(one->place, me)) {
            if (frame->hold.valid())
                return refused(*one, errc::would_deadlock, "this thread holds it already; only recursive_mutex nests")
                    .refusal();
            return refused(*one, errc::lost, "this thread's hold has ended; unlock what was locked, then lock anew")
                .refusal();
        }
    multi_attempt got = acquire(wait);
    if (!got) return got.refusal();
    // A second handle on each hold shows every other lock of this thread that it is inside.
    const auto holds = got->holds();
    for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i]->frames->insert(
            parts[i]->place, me,
            {.hold = core::claimant::handle(core::claimant::of(holds[i])), .through = this, .recursive = false});
    std::scoped_lock guard{mutex};
    inside.insert_or_assign(me, *std::move(got));
    return std::nullopt;
}

std::error_code multi_lock::body::unlock() noexcept {
    if (forked()) return errc::forked;
    const core::owner_key me = core::this_thread_key();
    std::map<core::owner_key, multi_hold>::node_type mine;
    {
        std::scoped_lock guard{mutex};
        mine = inside.extract(me);
    }
    if (mine.empty()) {
        parts.front()->engine->emit(event_kind::released, parts.front()->name(), {}, errc::not_owner);
        return errc::not_owner;
    }
    std::error_code ec;
    const release_result result = mine.mapped().release(ec);
    for (const auto& one : parts) one->frames->leave(one->place, me);
    switch (result) {
        case release_result::released:
            return {};
        case release_result::expired:
        case release_result::taken_over:
            return errc::lost;
        case release_result::unknown:
            break;
    }
    return ec;
}

multi_lock::body::~body() {
    if (forked()) {  // the parent's: leaked, not closed
        for (const auto& one : parts) {
            new std::shared_ptr<core::engine>(one->engine);
            new std::shared_ptr<core::reentry>(one->frames);
        }
        return;
    }
    for (const auto& left : inside)
        for (const auto& one : parts) one->frames->leave(one->place, left.first);  // destroying the holds releases them
}

namespace {

std::vector<std::unique_ptr<part>> parts_of(const client& locks, const auto& names, const claim_options& options) {
    std::vector<std::unique_ptr<part>> parts;
    for (const auto& name : names) parts.push_back(std::make_unique<part>(locks, name, options));
    return parts;
}

std::vector<std::unique_ptr<part>> parts_of(const std::vector<multi_lock::place>& places,
                                            const claim_options& options) {
    std::vector<std::unique_ptr<part>> parts;
    for (const auto& [locks, name] : places) parts.push_back(std::make_unique<part>(locks.get(), name, options));
    return parts;
}

}  // namespace

multi_lock::multi_lock(client& locks, std::initializer_list<std::string_view> names, claim_options options)
    : body_(std::make_unique<body>(parts_of(locks, names, options))) {}
multi_lock::multi_lock(client& locks, std::span<const std::string> names, claim_options options)
    : body_(std::make_unique<body>(parts_of(locks, names, options))) {}
multi_lock::multi_lock(const std::vector<place>& places, claim_options options)
    : body_(std::make_unique<body>(parts_of(places, options))) {}
multi_lock::~multi_lock() = default;

multi_hold multi_lock::acquire() {
    return body_->acquire(std::nullopt).value();
}
multi_hold multi_lock::acquire(std::error_code& ec) {
    multi_attempt got = body_->acquire(std::nullopt);
    ec = got.reason();
    return got ? *std::move(got) : multi_hold{};
}
multi_attempt multi_lock::try_acquire() {
    return body_->acquire(nanoseconds::zero());
}
multi_attempt multi_lock::try_acquire_within(nanoseconds wait) {
    return body_->acquire(wait);
}

void multi_lock::lock() {
    if (const auto no = body_->lock(std::nullopt)) throw error(no->reason, no->describe());
}
void multi_lock::lock(std::error_code& ec) {
    const auto no = body_->lock(std::nullopt);
    ec = no ? no->reason : std::error_code{};
}
bool multi_lock::try_lock() {
    return try_lock_within(nanoseconds::zero());
}
bool multi_lock::try_lock(std::error_code& ec) {
    const auto no = body_->lock(nanoseconds::zero());
    ec = no && !just_busy(no->reason) ? no->reason : std::error_code{};
    return !no;
}
bool multi_lock::try_lock_within(nanoseconds wait) {
    const auto no = body_->lock(wait);
    if (no && !just_busy(no->reason)) throw error(no->reason, no->describe());
    return !no;
}
void multi_lock::unlock() noexcept {
    body_->unlock();
}
void multi_lock::unlock(std::error_code& ec) noexcept {
    ec = body_->unlock();
}

const multi_hold& multi_lock::hold() const {
    const part& first = *body_->parts.front();
    if (!body_->forked()) {
        std::scoped_lock guard{body_->mutex};
        const auto mine = body_->inside.find(core::this_thread_key());
        if (mine != body_->inside.end()) return mine->second;
    }
    const errc why = body_->forked() ? errc::forked : errc::not_owner;
    throw error(why, first.engine->refuse(why, first.name(), "this thread has not locked it").detail);
}

const std::vector<std::string>& multi_lock::names() const noexcept {
    return body_->names;
}

}  // namespace mortise::inline v0
