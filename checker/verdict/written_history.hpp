// Histories written by hand, for tests of checkers. Times are small whole numbers.
#pragma once

#include "checker/history/operation.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace mortise::checker {

struct written_share {
    std::uint8_t weight = 1;
    std::uint8_t capacity = 1;
};

class written_history {
public:
    using share = written_share;

    // A hold of process `pid`: asked for, granted, and, unless left is 0, released; always seen to be valid until it was.
    // Returns its attempt.
    std::uint64_t hold(std::uint32_t pid, std::int64_t asked, std::int64_t granted, std::int64_t left,
                       std::uint64_t token, share of = {}, std::uint32_t lock = 0) {
        const std::uint64_t attempt = acquire(pid, asked, granted, token, phase::ok, of, lock);
        if (left == 0) return attempt;
        valid(pid, attempt, left);
        release(pid, attempt, left, left + 1);
        return attempt;
    }
    // granted 0: no answer.
    std::uint64_t acquire(std::uint32_t pid, std::int64_t asked, std::int64_t granted, std::uint64_t token,
                          phase is = phase::ok, share of = {}, std::uint32_t lock = 0) {
        const std::uint64_t op = ++ops_;
        record one{
            .pid = pid, .op = op, .lock = lock, .what = act::acquire, .weight = of.weight, .capacity = of.capacity};
        add(one, asked, phase::invoke);
        one.token = token;
        if (granted != 0) add(one, granted, is);
        locks_.push_back(lock);
        return op;
    }
    // Granted, with a lease, and seen to be valid at once; what becomes of it is to be written.
    std::uint64_t leased(std::uint32_t pid, std::int64_t asked, std::int64_t granted, std::int64_t valid_until,
                         std::uint64_t token) {
        const std::uint64_t op = ++ops_;
        record one{.pid = pid, .op = op, .what = act::acquire};
        add(one, asked, phase::invoke);
        one.token = token;
        one.valid_until = valid_until;
        add(one, granted, phase::ok);
        locks_.push_back(0);
        valid(pid, op, granted);
        return op;
    }
    void valid(std::uint32_t pid, std::uint64_t attempt, std::int64_t at, phase is = phase::ok) {
        add({.pid = pid, .lock = lock_of(attempt), .what = act::valid, .attempt = attempt}, at, is);
    }
    // answered 0: no answer.
    void release(std::uint32_t pid, std::uint64_t attempt, std::int64_t called, std::int64_t answered,
                 phase is = phase::ok) {
        both({.pid = pid, .lock = lock_of(attempt), .what = act::release, .attempt = attempt}, called, answered, is);
    }
    void reenter(std::uint32_t pid, std::uint64_t attempt, std::int64_t called, std::int64_t answered,
                 std::uint64_t token) {
        both({.pid = pid, .lock = lock_of(attempt), .what = act::reenter, .attempt = attempt, .token = token}, called,
             answered, phase::ok);
    }
    // What a client of a resource says of a write.
    void write(std::uint32_t pid, std::int64_t called, std::int64_t answered, std::uint64_t id, phase is = phase::ok) {
        both({.pid = pid, .what = act::write, .value = id}, called, answered, is);
    }
    void queued(std::uint32_t pid, std::int64_t at) { add({.pid = pid, .what = act::queued}, at, phase::ok); }
    void unqueued(std::uint32_t pid, std::int64_t at) { add({.pid = pid, .what = act::unqueued}, at, phase::ok); }
    void healed(std::int64_t at) { add({.what = act::heal}, at, phase::ok); }
    void leftover(std::int64_t at, std::uint64_t count) { add({.what = act::leftover, .value = count}, at, phase::ok); }

    // The store was asked who holds lock 0, and named these tokens.
    void truth(std::int64_t asked, std::int64_t answered, const std::vector<std::uint64_t>& tokens) {
        const std::uint64_t op = ++ops_;
        locks_.push_back(0);
        add({.pid = 1, .op = op, .what = act::truth}, asked, phase::invoke);
        for (const std::uint64_t token : tokens)
            add({.pid = 1, .op = op, .what = act::holder, .token = token}, asked, phase::ok);
        add({.pid = 1, .op = op, .what = act::truth}, answered, phase::ok);
    }

    history all() const { return sorted(records_); }
    std::vector<operation> operations() const { return operations_of(all()); }
    std::vector<hold_span> holds() const { return holds_of(all(), operations()); }

private:
    void add(record one, std::int64_t at, phase is) {
        one.at = at;
        one.is = is;
        records_.push_back(one);
    }
    void both(record one, std::int64_t called, std::int64_t answered, phase is) {
        one.op = ++ops_;
        locks_.push_back(one.lock);
        add(one, called, phase::invoke);
        if (answered != 0) add(one, answered, is);
    }
    std::uint32_t lock_of(std::uint64_t attempt) const { return locks_.at(attempt - 1); }

    std::vector<record> records_{};
    std::vector<std::uint32_t> locks_{};  // of each op
    std::uint64_t ops_ = 0;
};

}  // namespace mortise::checker
