// Fencing: how a resource rejects writes of a former holder.
#pragma once

#include <mortise/config.hpp>
#include <mortise/token.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <utility>

// A lease cannot stop a paused process from writing late; only the resource can reject the write. It is not enough to
// reject old tokens on *writes*: a late write of the old holder may arrive between the new holder's read and write, and
// would then be overwritten unseen. The safe order is **seal, read, write**: the new holder first raises the resource's
// token, and from then on the resource rejects everything from older holders.
//
// The three steps for common databases (`:token` is hold.token().value(); all columns and keys are yours):
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
// docs/fencing.md explains it with pictures.
namespace mortise::inline v0 {

namespace fenced {

// The token as twenty digits, so that comparing text compares numbers.
inline std::string padded(token t) {
    std::string digits = to_string(t);
    return std::string(20 - digits.size(), '0') + digits;
}

// A fenced value in memory: a model of a fenced resource for tests, and a guard for data that threads share. Every call
// passes the caller's token; a call with a token older than the seal returns nothing and changes nothing. Thread-safe.
template <class T>
class register_of {
public:
    explicit register_of(T initial = {}) : value_(std::move(initial)) {}

    // Raises the seal to `mine`. Returns false if a newer holder has sealed it, or if `mine` is token{}.
    [[nodiscard]] bool seal(token mine) {
        std::scoped_lock guard{mutex_};
        if (mine == token{} || mine < sealed_) return false;
        sealed_ = mine;
        return true;
    }

    // The value, if the seal is `mine`; then no older holder can write after this read.
    [[nodiscard]] std::optional<T> read(token mine) const {
        std::scoped_lock guard{mutex_};
        if (mine == token{} || mine != sealed_) return std::nullopt;
        return value_;
    }

    // Returns false, and writes nothing, if the seal is not `mine`.
    [[nodiscard]] bool write(token mine, T value) {
        std::scoped_lock guard{mutex_};
        if (mine == token{} || mine != sealed_) return false;
        value_ = std::move(value);
        return true;
    }

    // Seals, reads, and writes the result of `change`. Returns the new value, or nothing if rejected. `change` runs
    // without the register's mutex and may be slow; if a newer holder seals meanwhile, the write is rejected.
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

    // Reads without a token: for reports, never for a read-modify-write.
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
