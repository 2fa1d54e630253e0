#include "core/engine.hpp"
#include "locks/combined_stop.hpp"

#include <mortise/election.hpp>
#include <mortise/error.hpp>

#include <mutex>
#include <utility>

namespace mortise::inline v0 {
namespace {

using std::chrono::nanoseconds;

// A bounded campaign returns false for these.
bool just_not_yet(std::error_code why) noexcept {
    return why == errc::busy || why == errc::timed_out;
}

[[noreturn]] void throw_it(const refusal& why) {
    throw error(why.reason, why.describe());
}

}  // namespace

struct election::body {
    body(client& locks, std::string_view name, claim_options options)
        : engine(core::access::engine_of(locks)), wanted{.name = std::string(name), .options = std::move(options)} {
        // Every term is a grant of the store: its number is the one that others see, and its label the leader's own.
        wanted.options.hand_over = hand_over::off;
        wanted.options.wait.reset();
        engine->policy().check(wanted);
    }
    ~body() {
        if (engine->forked()) new std::shared_ptr<core::engine>(engine);  // the parent's: leaked, not closed
    }
    body(const body&) = delete;
    body& operator=(const body&) = delete;

    struct campaign_run;
    using answer = std::optional<refusal>;  // none: it leads

    answer campaign(const wait_options& how);
    static void start_campaign(const std::shared_ptr<body>& self, const wait_options& how, completion done);
    release_result resign(std::error_code& ec) noexcept;
    void start_resign(release_completion done);
    hold step_down() noexcept;
    std::optional<holder> leader(std::error_code& ec) const;

    refusal no(errc why, const std::string& what = {}) const { return engine->policy().refuse(why, wanted.name, what); }

    // Calls `ask` with the hold of the latest term, which may be an empty one.
    template <class Ask>
    auto of_term(Ask ask) const {
        if (engine->forked()) return ask(hold{});  // the mutex may be the parent's
        std::scoped_lock guard{mutex};
        return ask(term);
    }

    const std::shared_ptr<core::engine> engine;
    claim wanted;

    mutable std::mutex mutex;
    hold term;
    std::shared_ptr<campaign_run> running;  // the campaign under way

private:
    std::optional<answer> begin(const std::shared_ptr<campaign_run>& mine, const wait_options& how);
    claim asked_by(const campaign_run& mine, const wait_options& how) const;
    hold finish(const campaign_run& mine, hold elected);
};

// One campaign. resign() and the destructor of the election can stop it while it runs.
struct election::body::campaign_run {
    locks::combined_stop stop;
    std::stop_source resigned;
    hold before;  // of a term that is over
};

// None: the campaign has begun.
std::optional<election::body::answer> election::body::begin(const std::shared_ptr<campaign_run>& mine,
                                                            const wait_options& how) {
    if (engine->forked()) return no(errc::forked);
    std::scoped_lock guard{mutex};
    if (term.valid()) return answer{};
    if (running) return no(errc::busy, "this candidate is campaigning already");
    mine->stop.add(wanted.options.stop);
    mine->stop.add(how.stop);
    mine->stop.add(mine->resigned.get_token());
    mine->before = std::move(term);
    running = mine;
    return std::nullopt;
}

claim election::body::asked_by(const campaign_run& mine, const wait_options& how) const {
    claim asked = wanted;
    asked.options.wait = how.wait;
    asked.options.stop = mine.stop.token();
    return asked;
}

// Answers the hold if it comes too late, to be released.
hold election::body::finish(const campaign_run& mine, hold elected) {
    std::scoped_lock guard{mutex};
    running.reset();
    if (mine.stop.token().stop_requested()) return elected;
    term = std::move(elected);
    return {};
}

election::body::answer election::body::campaign(const wait_options& how) {
    const auto mine = std::make_shared<campaign_run>();
    if (auto known = begin(mine, how)) return *std::move(known);
    try {
        mine->before = hold{};
        attempt got = engine->acquire(asked_by(*mine, how));
        if (!got) {
            finish(*mine, {});
            return got.refusal();
        }
        if (hold late = finish(*mine, *std::move(got))) {
            late.release();
            return no(errc::cancelled);
        }
        return std::nullopt;
    } catch (...) {  // from now on resign() must not find the campaign
        finish(*mine, {});
        throw;
    }
}

void election::body::start_campaign(const std::shared_ptr<body>& self, const wait_options& how, completion done) {
    const auto mine = std::make_shared<campaign_run>();
    if (auto known = self->begin(mine, how))
        return core::on_notifier(self->engine->notifications(), std::move(done))(*std::move(known));
    try {
        if (mine->before) mine->before.start_release([](release_result, std::error_code) {});
        core::engine& at = *self->engine;
        client::completion told = [self, mine, done = std::move(done)](attempt got) mutable {
            if (!got) {
                self->finish(*mine, {});
                return done(got.refusal());
            }
            hold late = self->finish(*mine, *std::move(got));
            if (!late) return done(std::nullopt);
            late.start_release([self, done = std::move(done)](release_result, std::error_code) mutable {
                done(self->no(errc::cancelled));
            });
        };
        at.start(self->asked_by(*mine, how), core::on_notifier(at.notifications(), std::move(told)));
    } catch (...) {
        self->finish(*mine, {});
        throw;
    }
}

// The term that is over now, which may be an empty one.
hold election::body::step_down() noexcept {
    std::shared_ptr<campaign_run> ended;
    hold over;
    {
        std::scoped_lock guard{mutex};
        ended = running;
        over = std::move(term);
    }
    if (ended) ended->resigned.request_stop();
    return over;
}

release_result election::body::resign(std::error_code& ec) noexcept {
    if (engine->forked()) {
        ec = errc::forked;
        return release_result::unknown;
    }
    return step_down().release(ec);
}

void election::body::start_resign(release_completion done) {
    auto told = core::on_notifier(engine->notifications(), std::move(done));
    if (engine->forked()) return told(release_result::unknown, errc::forked);
    hold over = step_down();
    if (over) return over.start_release(std::move(told));
    told(release_result::unknown, errc::not_owner);
}

std::optional<holder> election::body::leader(std::error_code& ec) const {
    for (held_lock& one : engine->queries().list(ec))
        if (one.name == wanted.name) return std::move(one.holder);
    return std::nullopt;
}

election::election(client& locks, std::string_view name, claim_options options)
    : body_(std::make_shared<body>(locks, name, std::move(options))) {}
election::~election() {
    if (!body_->engine->forked()) body_->step_down();  // dropping the term releases it
}

void election::campaign() {
    if (const auto no = body_->campaign({})) throw_it(*no);
}
void election::campaign(std::error_code& ec) {
    const auto no = body_->campaign({});
    ec = no ? no->reason : std::error_code{};
}
bool election::campaign(std::stop_token stop) {
    const auto no = body_->campaign({.stop = stop});
    if (no && !(no->reason == errc::cancelled && stop.stop_requested())) throw_it(*no);
    return !no;
}
bool election::try_campaign() {
    return try_campaign_for(nanoseconds::zero());
}
bool election::try_campaign(std::error_code& ec) {
    const auto no = body_->campaign({.wait = nanoseconds::zero()});
    ec = no && !just_not_yet(no->reason) ? no->reason : std::error_code{};
    return !no;
}
bool election::try_campaign_for(detail::any_duration wait) {
    const auto no = body_->campaign({.wait = wait.left});
    if (no && !just_not_yet(no->reason)) throw_it(*no);
    return !no;
}
bool election::try_campaign_until(detail::any_time_point deadline) {
    return try_campaign_for(deadline.left);
}

void election::start_campaign(const wait_options& how, completion done) {
    core::check_completion(done);
    body::start_campaign(body_, how, std::move(done));
}
void election::start_resign(release_completion done) {
    core::check_completion(done);
    body_->start_resign(std::move(done));
}

bool election::is_leader() const noexcept {
    return body_->of_term([](const hold& term) { return term.valid(); });
}
boot_clock::time_point election::leader_until() const noexcept {
    return body_->of_term([](const hold& term) { return term.valid_until(); });
}
token election::term() const {
    std::error_code ec;
    const token mine = body_->of_term([&](const hold& term) { return term.token(ec); });
    if (body_->engine->forked()) ec = errc::forked;
    if (ec == errc::not_owner) throw_it(body_->no(errc::not_owner, "this candidate has no term"));
    if (ec) throw_it(body_->engine->policy().refuse(ec, name()));
    return mine;
}
std::stop_token election::lost() const {
    return body_->of_term([](const hold& term) {
        if (term) return term.lost();
        std::stop_source over;
        over.request_stop();
        return over.get_token();
    });
}
void election::on_lost(unique_function<void()> fn) {
    if (body_->engine->forked()) throw_it(body_->no(errc::forked));
    std::scoped_lock guard{body_->mutex};
    if (!body_->term) throw_it(body_->no(errc::not_owner, "this candidate has no term"));
    body_->term.on_lost(std::move(fn));
}
release_result election::resign() noexcept {
    std::error_code ignored;
    return resign(ignored);
}
release_result election::resign(std::error_code& ec) noexcept {
    return body_->resign(ec);
}

std::optional<holder> election::leader() const {
    std::error_code ec;
    auto found = leader(ec);
    if (ec) throw_it(body_->engine->policy().refuse(ec, name()));
    return found;
}
std::optional<holder> election::leader(std::error_code& ec) const {
    return body_->leader(ec);
}
const std::string& election::name() const noexcept {
    return body_->wanted.name;
}

}  // namespace mortise::inline v0
