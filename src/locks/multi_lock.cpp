#include "core/engine.hpp"
#include "core/reentry.hpp"
#include "locks/multi_claim.hpp"
#include "locks/multi_hold.hpp"
#include "locks/unlock_error.hpp"

#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>

#include <map>
#include <utility>

namespace mortise::inline v0 {
namespace {

using std::chrono::nanoseconds;

// try_lock returns false for these.
bool just_busy(std::error_code why) noexcept {
    return why == errc::busy || why == errc::timed_out || why == errc::would_deadlock;
}

}  // namespace

struct multi_lock::body {
    explicit body(locks::parts given, valid_while how = valid_while::all)
        : parts(locks::in_order(std::move(given))), rule(how) {
        for (const auto& one : *parts) names.push_back(one->name());
    }
    ~body();
    body(const body&) = delete;
    body& operator=(const body&) = delete;

    struct run;

    multi_attempt acquire(std::optional<nanoseconds> wait) const;
    std::optional<refusal> lock(std::optional<nanoseconds> wait);  // none: locked
    std::error_code unlock() noexcept;

    static refusal refused(const locks::part& at, errc why, const std::string& what = {}) {
        return at.engine->policy().refuse(why, at.name(), what);
    }
    // fork() copies all clients of a process, so one answers for all.
    bool forked() const noexcept { return parts->front()->engine->forked(); }

    const std::shared_ptr<const locks::parts> parts;  // shared with calls that may outlive the lock
    const valid_while rule;
    std::vector<std::string> names;

    mutable std::mutex mutex;
    std::map<core::owner_key, multi_hold> inside;  // the mutex form: what each thread holds
};

multi_attempt multi_lock::body::acquire(std::optional<nanoseconds> wait) const {
    locks::multi_claim all{parts, {.wait = wait}, rule};
    while (all.wants_more()) all.record(all.engine().acquire(all.next()));
    while (auto spare = all.next_to_release()) spare->release();
    return all.answer();
}

// The same with callbacks. Every call completes once, so only one step runs at a time.
struct multi_lock::body::run : std::enable_shared_from_this<run> {
    locks::multi_claim all;
    unique_function<void(multi_attempt)> done;

    run(const body& of, const wait_options& how, unique_function<void(multi_attempt)> then)
        : all(of.parts, how, of.rule), done(std::move(then)) {}

    void go_on() {
        core::engine& at = all.engine();
        if (all.wants_more()) {
            client::completion told = [self = shared_from_this()](attempt got) {
                self->all.record(std::move(got));
                self->go_on();
            };
            at.start(all.next(), core::on_notifier(at.notifications(), std::move(told)));
        } else if (auto spare = all.next_to_release()) {
            spare->start_release([self = shared_from_this()](release_result, std::error_code) { self->go_on(); });
        } else {
            core::on_notifier(at.notifications(), std::move(done))(all.answer());
        }
    }
};

std::optional<refusal> multi_lock::body::lock(std::optional<nanoseconds> wait) {
    const core::owner_key me = core::this_thread_key();
    if (forked()) return refused(*parts->front(), errc::forked);
    for (const auto& one : *parts)
        if (const core::reentry::frame* frame = one->frames->find(one->hashed_name, me)) {
            if (frame->hold.valid())
                return refused(*one, errc::would_deadlock, "this thread holds it already; only recursive_mutex nests");
            return refused(*one, errc::lost, "this thread's hold has ended; unlock what was locked, then lock anew");
        }
    multi_attempt got = acquire(wait);
    if (!got) return got.refusal();
    // A second handle on each hold shows other locks of this thread that it holds these names.
    const auto holds = got->holds();
    for (std::size_t i = 0; i < parts->size(); ++i)
        (*parts)[i]->frames->insert(
            (*parts)[i]->hashed_name, me,
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
        parts->front()->engine->notifications().emit(event_kind::released, parts->front()->name(), {}, errc::not_owner);
        return errc::not_owner;
    }
    std::error_code ec;
    const release_result result = mine.mapped().release(ec);
    for (const auto& one : *parts) one->frames->leave(one->hashed_name, me);
    return locks::unlock_error(result, ec);
}

multi_lock::body::~body() {
    if (forked()) return;
    for (const auto& left : inside)
        for (const auto& one : *parts)
            one->frames->leave(one->hashed_name, left.first);  // destroying the holds releases them
}

namespace {

locks::parts parts_of(const client& from, const auto& names, const claim_options& options) {
    locks::parts all;
    for (const auto& name : names) all.push_back(std::make_unique<locks::part>(from, name, options));
    return all;
}

locks::parts parts_of(const std::vector<multi_lock::place>& places, const claim_options& options) {
    locks::parts all;
    for (const auto& [from, name] : places) all.push_back(std::make_unique<locks::part>(from.get(), name, options));
    return all;
}

}  // namespace

multi_lock::multi_lock(client& locks, std::initializer_list<std::string_view> names, claim_options options)
    : body_(std::make_unique<body>(parts_of(locks, names, options))) {}
multi_lock::multi_lock(client& locks, std::span<const std::string> names, claim_options options)
    : body_(std::make_unique<body>(parts_of(locks, names, options))) {}
multi_lock::multi_lock(const std::vector<place>& places, claim_options options, valid_while rule)
    : body_(std::make_unique<body>(parts_of(places, options), rule)) {}
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
multi_attempt multi_lock::try_acquire_for(detail::any_duration wait) {
    return body_->acquire(wait.left);
}
multi_attempt multi_lock::try_acquire_until(detail::any_time_point deadline) {
    return body_->acquire(deadline.left);
}

void multi_lock::start(const wait_options& how, completion done) {
    core::check_completion(done);
    std::make_shared<body::run>(*body_, how, std::move(done))->go_on();
}

void multi_lock::lock() {
    if (const auto no = body_->lock(std::nullopt)) throw error(no->reason, no->describe());
}
void multi_lock::lock(std::error_code& ec) {
    const auto no = body_->lock(std::nullopt);
    ec = no ? no->reason : std::error_code{};
}
bool multi_lock::try_lock() {
    return try_lock_for(nanoseconds::zero());
}
bool multi_lock::try_lock(std::error_code& ec) {
    const auto no = body_->lock(nanoseconds::zero());
    ec = no && !just_busy(no->reason) ? no->reason : std::error_code{};
    return !no;
}
bool multi_lock::try_lock_for(detail::any_duration wait) {
    const auto no = body_->lock(wait.left);
    if (no && !just_busy(no->reason)) throw error(no->reason, no->describe());
    return !no;
}
bool multi_lock::try_lock_until(detail::any_time_point deadline) {
    return try_lock_for(deadline.left);
}
void multi_lock::unlock() noexcept {
    body_->unlock();
}
void multi_lock::unlock(std::error_code& ec) noexcept {
    ec = body_->unlock();
}

const multi_hold& multi_lock::hold() const {
    const locks::part& first = *body_->parts->front();
    if (!body_->forked()) {
        std::scoped_lock guard{body_->mutex};
        const auto mine = body_->inside.find(core::this_thread_key());
        if (mine != body_->inside.end()) return mine->second;
    }
    const errc why = body_->forked() ? errc::forked : errc::not_owner;
    throw error(why, first.engine->policy().refuse(why, first.name(), "this thread has not locked it").detail);
}

const std::vector<std::string>& multi_lock::names() const noexcept {
    return body_->names;
}

}  // namespace mortise::inline v0
