// Fencing: how a resource refuses a holder whose lock has moved on.
#pragma once

#include <mortise/config.hpp>
#include <mortise/token.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <utility>

// No lease keeps a paused process from writing late; only the resource can refuse it. Refusing old tokens on *writes*
// is not enough: the old holder's late write may land between the new holder's read and its write, and is then
// overwritten without anyone having seen it. The safe order is **seal, then read, then write**: the new holder first
// raises the resource's token, and from that instant nothing of the old holder's gets in.
//
// The same three steps on the stores people keep data in (`:token` is hold.token().value(); every column and key named
// here is the user's own):
//
//   SQL   (0 rows in any of the three: a newer holder has been here)
//         seal    UPDATE stock SET fence = :token WHERE id = :id AND fence <= :token
//         read    SELECT amount FROM stock WHERE id = :id AND fence = :token
//         write   UPDATE stock SET amount = :new WHERE id = :id AND fence = :token
//
//   Redis (tokens have 64 bits, Lua numbers 53: compare them as zero-padded decimals, see fenced::padded)
//         seal    EVAL "if (redis.call('HGET',KEYS[1],'fence') or '') > ARGV[1] then return 0 end
//                       redis.call('HSET',KEYS[1],'fence',ARGV[1]) return 1" 1 stock <padded>
//         read    EVAL "if redis.call('HGET',KEYS[1],'fence') ~= ARGV[1] then return nil end
//                       return redis.call('HGET',KEYS[1],'amount')" 1 stock <padded>
//         write   EVAL "if redis.call('HGET',KEYS[1],'fence') ~= ARGV[1] then return 0 end
//                       redis.call('HSET',KEYS[1],'amount',ARGV[2]) return 1" 1 stock <padded> <new>
//
// docs/fencing.md tells the story in pictures.
namespace mortise::inline v0 {

namespace fenced {

// Twenty digits, so that text order is number order.
inline std::string padded(token t) {
    std::string digits = to_string(t);
    return std::string(20 - digits.size(), '0') + digits;
}

// A value in memory that obeys the rule: the model of a fenced resource, for tests and for guarding what threads
// share. Every call says which holder it speaks for; a call with an older token than the seal answers nothing and
// changes nothing. Safe to call from any thread.
template <class T>
class register_of {
public:
    explicit register_of(T initial = {}) : value_(std::move(initial)) {}

    // Raises the seal to `mine`. False: a newer holder has been here, or `mine` is no token at all.
    [[nodiscard]] bool seal(token mine) {
        std::scoped_lock guard{mutex_};
        if (mine == token{} || mine < sealed_) return false;
        sealed_ = mine;
        return true;
    }

    // The value, if the seal is `mine`: so nobody older can write after this read.
    [[nodiscard]] std::optional<T> read(token mine) const {
        std::scoped_lock guard{mutex_};
        if (mine == token{} || mine != sealed_) return std::nullopt;
        return value_;
    }

    // False: refused; the seal is not `mine`.
    [[nodiscard]] bool write(token mine, T value) {
        std::scoped_lock guard{mutex_};
        if (mine == token{} || mine != sealed_) return false;
        value_ = std::move(value);
        return true;
    }

    // Seal, read, write in one go: the new value, or nothing when refused. `change` runs outside the register's own
    // mutex and may be slow; a holder that seals meanwhile makes the write fail.
    template <class Change>
    [[nodiscard]] std::optional<T> update(token mine, Change&& change) {
        if (!seal(mine)) return std::nullopt;
        std::optional<T> before = read(mine);
        if (!before) return std::nullopt;
        T after = std::forward<Change>(change)(std::move(*before));
        if (!write(mine, after)) return std::nullopt;
        return after;
    }

    token sealed() const {
        std::scoped_lock guard{mutex_};
        return sealed_;
    }

    // Looks without a token: for reports, never as the read of a read-modify-write.
    T peek() const {
        std::scoped_lock guard{mutex_};
        return value_;
    }

private:
    mutable std::mutex mutex_;
    token sealed_{};
    T value_;
};

}  // namespace fenced

}  // namespace mortise::inline v0
