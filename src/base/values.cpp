// The out-of-line parts of the small public types.
#include "base/process.hpp"
#include "base/text.hpp"

#include <mortise/attempt.hpp>
#include <mortise/boot_clock.hpp>
#include <mortise/claim_id.hpp>
#include <mortise/finding.hpp>
#include <mortise/holder.hpp>
#include <mortise/observer.hpp>
#include <mortise/owner.hpp>

#include <atomic>

#include <sys/random.h>
#include <time.h>

namespace mortise::inline v0 {

boot_clock::time_point boot_clock::now() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
}

// A system call per lock would be half its cost, so a thread fetches 32 ids at a time; the generation keeps the child of
// a fork from drawing the same ones as its parent.
claim_id claim_id::random() {
    struct stock {
        std::array<claim_id, 32> ids;
        std::size_t left = 0;
        std::uint64_t generation = 0;
    };
    thread_local stock mine;
    if (const auto generation = base::fork_generation(); mine.left == 0 || mine.generation != generation) {
        auto* at = reinterpret_cast<unsigned char*>(mine.ids.data());
        for (std::size_t got = 0; got < sizeof mine.ids;) {
            const auto n = ::getrandom(at + got, sizeof mine.ids - got, 0);
            if (n > 0) got += static_cast<std::size_t>(n);
        }
        mine.left = mine.ids.size();
        mine.generation = generation;
    }
    return mine.ids[--mine.left];
}

std::string claim_id::hex() const {
    constexpr char digits[] = "0123456789abcdef";
    std::string text(2 * sizeof bits, '0');
    char* at = text.data();
    for (const std::uint64_t word : bits)
        for (int shift = 60; shift >= 0; shift -= 4) *at++ = digits[word >> shift & 15];
    return text;
}

owner::owner() noexcept {
    // Odd: the identities of threads are even (core/reentry.cpp).
    static constinit std::atomic<std::uint64_t> next{1};
    id_ = next.fetch_add(2, std::memory_order_relaxed);
}

std::string holder::describe() const {
    std::string text = host.empty() ? "another program" : host;
    if (pid != 0) text += " pid " + std::to_string(pid);
    if (!label.empty()) text += " (" + label + ")";
    if (held_for) text += ", for " + base::readable(*held_for);
    if (token != mortise::token{}) text += ", token " + to_string(token);
    return text;
}

std::string refusal::describe() const {
    std::string text = detail.empty() ? reason.message() : detail;
    if (holder) text += "; held by " + holder->describe();
    if (place && reason != errc::busy) text += "; place " + std::to_string(*place) + " in the queue";
    if (place && reason == errc::busy && *place > 1) text += "; " + std::to_string(*place - 1) + " waiting";
    return text;
}

std::string to_string(const hold& it) {
    if (!it) return "nothing";
    std::error_code without;
    const token held = it.token(without);
    return base::quoted(it.name()) + (without ? "" : ", token " + to_string(held)) + (it.valid() ? "" : ", lost");
}

std::string attempt::describe() const {
    return refusal_ ? refusal_->describe() : "granted " + to_string(hold_);
}

hold& attempt::value() & {
    if (refusal_) throw error(refusal_->reason, refusal_->describe());
    return hold_;
}

hold attempt::value() && {
    if (refusal_) throw error(refusal_->reason, refusal_->describe());
    return std::move(hold_);
}

std::string_view to_string(release_result result) noexcept {
    switch (result) {
        case release_result::released:
            return "released";
        case release_result::expired:
            return "expired";
        case release_result::taken_over:
            return "taken over";
        case release_result::sent:
            return "sent";
        case release_result::unknown:
            return "unknown";
    }
    return "?";
}

std::string_view to_string(finding::grade grade) noexcept {
    switch (grade) {
        case finding::grade::good:
            return "good";
        case finding::grade::note:
            return "note";
        case finding::grade::warning:
            return "warning";
        case finding::grade::problem:
            break;
    }
    return "problem";
}

std::string_view to_string(event_kind kind) noexcept {
    switch (kind) {
        case event_kind::claimed:
            return "claimed";
        case event_kind::waited:
            return "waited";
        case event_kind::granted:
            return "granted";
        case event_kind::refused:
            return "refused";
        case event_kind::renewed:
            return "renewed";
        case event_kind::at_risk:
            return "at risk";
        case event_kind::lost:
            return "lost";
        case event_kind::released:
            return "released";
        case event_kind::retried:
            return "retried";
    }
    return "?";
}

observer::~observer() = default;

}  // namespace mortise::inline v0
