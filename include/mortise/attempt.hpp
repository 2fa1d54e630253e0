// The result of try_acquire: a hold, or why there is none.
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/hold.hpp>
#include <mortise/holder.hpp>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::inline v0 {

// Why a claim was not granted. Busy and timed out are ordinary results, not exceptions.
struct refusal {
    std::error_code reason;                   // an errc
    std::optional<mortise::holder> holder{};  // who holds the lock, if the store knows
    std::optional<std::size_t> place{};       // in the queue when the wait ended, or if it had queued; 1 is next
    std::string detail{};                     // one line for people: what, where, what to do

    // Everything above in one line.
    MORTISE_API std::string describe() const;
};

inline std::string to_string(const refusal& why) {
    return why.describe();
}
MORTISE_API std::ostream& operator<<(std::ostream&, const refusal&);

// A hold or a refusal, like std::expected<hold, refusal>. Do not discard it: discarding a granted one releases the
// lock.
class [[nodiscard]] attempt {
public:
    attempt(mortise::hold granted) noexcept : hold_(std::move(granted)) {}  // NOLINT(google-explicit-constructor)
    attempt(mortise::refusal why) noexcept : refusal_(std::move(why)) {}    // NOLINT(google-explicit-constructor)

    explicit operator bool() const noexcept { return !refusal_.has_value(); }

    // Only if granted.
    mortise::hold& operator*() & noexcept { return hold_; }
    mortise::hold&& operator*() && noexcept { return std::move(hold_); }
    mortise::hold* operator->() noexcept { return &hold_; }

    // The hold. Throws the refusal as mortise::error.
    MORTISE_API mortise::hold& value() &;
    MORTISE_API mortise::hold value() &&;

    // Only if refused.
    const mortise::refusal& refusal() const noexcept { return *refusal_; }

    std::error_code reason() const noexcept { return refusal_ ? refusal_->reason : std::error_code{}; }

    // "granted 'report', token 1823...", or the refusal in one line.
    MORTISE_API std::string describe() const;

private:
    mortise::hold hold_;
    std::optional<mortise::refusal> refusal_;
};

inline std::string to_string(const attempt& it) {
    return it.describe();
}
MORTISE_API std::ostream& operator<<(std::ostream&, const attempt&);

}  // namespace mortise::inline v0
