#include "core/engine.hpp"

#include <mortise/election.hpp>
#include <mortise/error.hpp>

#include <functional>
#include <mutex>
#include <utility>

namespace mortise::inline v0 {
namespace {

using std::chrono::nanoseconds;

// What a bounded campaign answers with false.
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
        engine->check(wanted);
    }
    ~body() {
        if (engine->forked()) new std::shared_ptr<core::engine>(engine);  // the parent's: leaked, not closed
    }
    body(const body&) = delete;
    body& operator=(const body&) = delete;

    std::optional<refusal> campaign(std::optional<nanoseconds> wait, std::stop_token stop = {});  // none: it leads
    release_result resign(std::error_code& ec) noexcept;
    std::optional<holder> leader(std::error_code& ec) const;

    refusal no(errc why, const std::string& what = {}) const { return engine->refuse(why, wanted.name, what); }

    // Calls `ask` with the hold of the latest term, which may be an empty one.
    template <class Ask>
    auto of_term(Ask ask) const {
        static const hold none;
        if (engine->forked()) return ask(none);  // the mutex may be the parent's
        std::scoped_lock guard{mutex};
        return ask(term);
    }

    const std::shared_ptr<core::engine> engine;
    claim wanted;

    mutable std::mutex mutex;
    hold term;
    std::stop_source* running = nullptr;  // of the campaign under way
};

std::optional<refusal> election::body::campaign(std::optional<nanoseconds> wait, std::stop_token stop) {
    if (engine->forked()) return no(errc::forked);
    std::stop_source end;
    hold over;
    {
        std::scoped_lock guard{mutex};
        if (term.valid()) return std::nullopt;
        if (running != nullptr) return no(errc::busy, "this candidate is campaigning already, on another thread");
        running = &end;
        over = std::move(term);
    }
    // Also if something throws: from now on resign() must not find the campaign.
    const auto finish = [&](hold elected) {
        std::scoped_lock guard{mutex};
        running = nullptr;
        if (end.stop_requested()) return elected;  // too late: given back
        term = std::move(elected);
        return hold{};
    };
    try {
        over = hold{};
        const auto stop_all = [&end] { end.request_stop(); };
        const std::stop_callback one{std::move(stop), stop_all};
        const std::stop_callback other{wanted.options.stop, stop_all};
        claim mine = wanted;
        mine.options.wait = wait;
        mine.options.stop = end.get_token();
        attempt got = engine->acquire(std::move(mine));
        if (!got) {
            finish({});
            return got.refusal();
        }
        if (hold late = finish(*std::move(got))) {
            late.release();
            return no(errc::cancelled);
        }
        return std::nullopt;
    } catch (...) {
        finish({});
        throw;
    }
}

release_result election::body::resign(std::error_code& ec) noexcept {
    if (engine->forked()) {
        ec = errc::forked;
        return release_result::unknown;
    }
    hold over;
    {
        std::scoped_lock guard{mutex};
        if (running != nullptr) running->request_stop();
        over = std::move(term);
    }
    return over.release(ec);
}

std::optional<holder> election::body::leader(std::error_code& ec) const {
    for (held_lock& one : engine->list(ec))
        if (one.name == wanted.name) return std::move(one.holder);
    return std::nullopt;
}

election::election(client& locks, std::string_view name, claim_options options)
    : body_(std::make_unique<body>(locks, name, std::move(options))) {}
election::~election() = default;

void election::campaign() {
    if (const auto no = body_->campaign(std::nullopt)) throw_it(*no);
}
void election::campaign(std::error_code& ec) {
    const auto no = body_->campaign(std::nullopt);
    ec = no ? no->reason : std::error_code{};
}
bool election::campaign(std::stop_token stop) {
    const auto no = body_->campaign(std::nullopt, stop);
    if (no && !(no->reason == errc::cancelled && stop.stop_requested())) throw_it(*no);
    return !no;
}
bool election::try_campaign() {
    return try_campaign_within(nanoseconds::zero());
}
bool election::try_campaign(std::error_code& ec) {
    const auto no = body_->campaign(nanoseconds::zero());
    ec = no && !just_not_yet(no->reason) ? no->reason : std::error_code{};
    return !no;
}
bool election::try_campaign_within(nanoseconds wait) {
    const auto no = body_->campaign(wait);
    if (no && !just_not_yet(no->reason)) throw_it(*no);
    return !no;
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
    if (ec) throw_it(body_->engine->refuse(ec, name()));
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
    auto who = leader(ec);
    if (ec) throw_it(body_->engine->refuse(ec, name()));
    return who;
}
std::optional<holder> election::leader(std::error_code& ec) const {
    return body_->leader(ec);
}
const std::string& election::name() const noexcept {
    return body_->wanted.name;
}

}  // namespace mortise::inline v0
