#include "core/releaser.hpp"

#include "base/limits.hpp"
#include "core/blocking_call.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::inline v0::core {
namespace {

// For its owner a hold that had ended is never `released`, though the store may not have noticed yet.
release_result result_of(std::optional<spi::release_answer> answer, bool was_lost) noexcept {
    if (!answer) return release_result::unknown;
    switch (*answer) {
        case spi::release_answer::released:
            return was_lost ? release_result::expired : release_result::released;
        case spi::release_answer::expired:
            return release_result::expired;
        case spi::release_answer::taken_over:
            return release_result::taken_over;
        case spi::release_answer::unknown:
            break;
    }
    return release_result::unknown;
}

}  // namespace

// The decision, and everything that does not wait for the store.
auto releaser::begin(const std::shared_ptr<claimant>& call) noexcept -> parting {
    if (link_.forked()) return {.left = {.why = errc::forked, .result = release_result::unknown, .silent = true}};
    const spi::time_point now = link_.clock.now();
    parting gone{.left = table_.release(call, now), .since = now};
    gone.left.watched.reset();
    gone.request = requester_.run(std::move(gone.left.todo));
    return gone;
}

void releaser::finish(claimant& call, const parting& gone, std::error_code ec) noexcept {
    if (gone.left.silent) return;
    call.result = gone.left.result;
    call.releasing = false;
    link_.notifications.emit(event_kind::released, call.cohort->terms.name, call.token(),
                             gone.left.was_lost ? make_error_code(errc::lost) : ec, gone.left.held_for);
}

release_result releaser::release(const std::shared_ptr<claimant>& call, std::error_code& ec) noexcept {
    const blocking_call blocks{link_.store};  // a lazy one does not wait, but is in no hurry to be answered either
    parting gone = begin(call);
    ec = gone.left.why;
    release_result& result = gone.left.result;
    if (gone.request && call->cohort->terms.lazy && !gone.left.was_lost) {
        const auto answer = release_request::wait(gone.request, spi::duration::zero());  // it may be there already
        result = answer ? result_of(answer, false) : release_result::sent;
    } else if (gone.request) {
        // The store may have kept us.
        const spi::duration spent = gone.request->answered() ? spi::duration{} : link_.clock.now() - gone.since;
        result = result_of(release_request::wait(gone.request, link_.options.release_wait - spent), gone.left.was_lost);
        if (result == release_result::unknown) ec = errc::unreachable;
    }
    finish(*call, gone, ec);
    return result;
}

void releaser::start(const std::shared_ptr<claimant>& call, release_completion done) {
    auto gone = std::make_shared<parting>(begin(call));
    if (!gone->request) {
        finish(*call, *gone, gone->left.why);
        return done(gone->left.result, gone->left.why);
    }
    const auto request = std::exchange(gone->request, nullptr);
    wait_for(request, gone->left.was_lost,
             [this, call, gone, done = std::move(done)](release_result result, std::error_code why) mutable {
                 gone->left.result = result;
                 finish(*call, *gone, why);
                 done(result, why);
             });
}

void releaser::drop(const std::shared_ptr<claimant>& call) noexcept {
    const auto is = call->is.load(std::memory_order_acquire);
    if (is == claimant::phase::kept) requester_.run(table_.let_go(call));
    if (is != claimant::phase::holding) return;  // it was released before
    if (call->cohort->terms.detached) return table_.forget(*call);
    std::error_code ignored;
    release(call, ignored);
}

// Of a claim whose lease we do not know.
std::shared_ptr<release_request> releaser::send_unknown(std::string_view name, const claim_id& id) {
    const auto request = requester_.release_of(name, id, link_.clock.now() + link_.options.release_wait);
    release_request::send(request);
    return request;
}

release_result releaser::release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept {
    ec = may_not_ask(name);
    if (ec) return release_result::unknown;
    if (const auto holder = table_.holder_of(name, id)) return release(holder, ec);  // its owner is to know
    const release_result result =
        result_of(release_request::wait(send_unknown(name, id), link_.options.release_wait), false);
    if (result == release_result::unknown) ec = errc::unreachable;
    return result;
}

void releaser::start(std::string_view name, const claim_id& id, release_completion done) {
    if (const auto ec = may_not_ask(name)) return done(release_result::unknown, ec);
    if (const auto holder = table_.holder_of(name, id)) return start(holder, std::move(done));
    wait_for(send_unknown(name, id), false, std::move(done));
}

void releaser::wait_for(const std::shared_ptr<release_request>& request, bool was_lost, release_completion done) {
    const auto reply = std::make_shared<pending_reply<release_result>>(release_result::unknown, std::move(done));
    request->then([this, reply, was_lost](spi::release_answer answer) {
        reply->answer(result_of(answer, was_lost));
        replies_.forget(reply);
    });
    replies_.wait_for(reply, link_.options.release_wait);
}

std::error_code releaser::may_not_ask(std::string_view name) const noexcept {
    if (const auto ended = link_.ended()) return ended;
    try {
        base::check_name(name);
    } catch (const error& e) {
        return e.code();
    }
    return {};
}

void releaser::close(spi::duration patience) noexcept {
    const auto until = std::chrono::steady_clock::now() + patience;
    const auto left = [&] {
        return std::max<spi::duration>(until - std::chrono::steady_clock::now(), spi::duration::zero());
    };
    std::vector<claim_release> releases;
    requester_.run(table_.close(link_.clock.now(), releases));
    // What is not sent in time ends with the store's session, or with its lease.
    for (claim_release& one : releases)
        if (left() > spi::duration::zero())
            release_request::send(requester_.release_of(std::move(one), link_.clock.now()));
    releases.clear();
    log_.wait_until_empty(left());
}

}  // namespace mortise::inline v0::core
