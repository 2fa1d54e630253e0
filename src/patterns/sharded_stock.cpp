#include "patterns/hash.hpp"
#include "patterns/inside.hpp"
#include "patterns/requirements.hpp"
#include "patterns/stock_segment.hpp"

#include <mortise/duration.hpp>
#include <mortise/error.hpp>
#include <mortise/patterns/sharded_stock.hpp>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <random>

namespace mortise::inline v0 {
namespace {

using patterns::stock_segment;

constexpr int most_tries = 3;             // to write what a storage did not acknowledge
constexpr std::int64_t least_share = 16;  // of a segment, that is worth being moved there

}  // namespace

struct sharded_stock::body {
    static constexpr const char* pattern = "sharded_stock";

    const std::vector<segment> segments;
    const std::string name;
    const options how;
    std::atomic<bool> compared{};  // with the lists of others
    // Segments that were found empty, or could not be reached, are asked last. A hint, no more.
    std::vector<std::atomic<bool>> unpromising = std::vector<std::atomic<bool>>(segments.size());

    std::size_t size() const { return segments.size(); }
    std::string key_of(std::size_t which) const { return name + "/" + std::to_string(which); }
    hold lock(std::size_t which) const;
    stock_segment read(std::size_t which, const hold& mine) const;
    void write(std::size_t which, const hold& mine, const stock_segment& after) const;
    void refuse_misuse() const;
    void refuse_other_lists() const;

    // Changes one segment under its lock. `change` says whether there is something to write.
    template <class Change>
    stock_segment visit(std::size_t which, Change&& change);
    void deliver(std::size_t from, const stock_segment::transfer& what);
    void gather(std::int64_t count, std::size_t to);
    void spread(std::int64_t count, std::size_t from);
    std::size_t home_of(std::string_view key) const;
    std::vector<std::size_t> order_for(std::string_view key) const;
    std::vector<std::size_t> promising_first(std::string_view key) const;
    bool sell(std::string_view key, std::int64_t count, unique_function<void()>& inside,
              std::vector<stock_segment>& seen);
    bool take(std::string_view key, std::int64_t count, unique_function<void()>& inside);
    std::size_t add(std::string_view key, std::int64_t count);
    // Of a segment, so that the total is a number.
    std::int64_t most() const { return std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(size()); }
    [[noreturn]] void too_much() const;
};

hold sharded_stock::body::lock(std::size_t which) const {
    return segments[which].locks.acquire(key_of(which), {.wait = how.wait, .require_token = true, .label = pattern});
}

stock_segment sharded_stock::body::read(std::size_t which, const hold& mine) const {
    fenced_storage& place = segments[which].place;
    if (!place.seal(key_of(which), mine.token())) patterns::seal_refused(mine, pattern, name, key_of(which));
    const std::optional<fenced_storage::entry> found = place.read(key_of(which));
    return found ? stock_segment::unpacked(found->bytes, size()) : stock_segment{size()};
}

// A write that is not acknowledged may have been made. While the lock is ours nobody else changes the segment, so it tells.
void sharded_stock::body::write(std::size_t which, const hold& mine, const stock_segment& after) const {
    fenced_storage& place = segments[which].place;
    for (int tried = 1;; ++tried) {
        try {
            if (tried > 1 && read(which, mine) == after) return;
            if (!place.write(key_of(which), mine.token(), after.packed(), detail::for_ever))
                patterns::write_refused(mine, pattern, name, key_of(which));
            return;
        } catch (const error& e) {
            if (e.code() == errc::lost || tried == most_tries || !mine.valid()) throw;
        } catch (const std::exception&) {
            if (tried == most_tries || !mine.valid()) throw;
        }
    }
}

// A child of fork, or `inside` of a sale.
void sharded_stock::body::refuse_misuse() const {
    patterns::refuse_child(segments.front().locks, pattern, name);
    patterns::refuse_reentry(segments.front().locks, name, pattern, name, {});
}

// Who lists more segments than others would hide stock in those that nobody else looks into. A segment that has been written tells
// how many there are; one that cannot be reached does not.
void sharded_stock::body::refuse_other_lists() const {
    for (std::size_t i = 0; i < size(); ++i) {
        try {
            if (const auto found = segments[i].place.read(key_of(i)))
                static_cast<void>(stock_segment::unpacked(found->bytes, size()));
        } catch (const error& e) {
            if (e.code() == errc::invalid_option) throw;
        } catch (...) {
            continue;
        }
    }
}

template <class Change>
stock_segment sharded_stock::body::visit(std::size_t which, Change&& change) {
    unpromising[which] = true;
    const hold mine = lock(which);
    stock_segment one = read(which, mine);
    if (change(one)) write(which, mine, one);
    unpromising[which] = one.amount == 0;
    return one;
}

void sharded_stock::body::deliver(std::size_t from, const stock_segment::transfer& what) {
    visit(what.to, [&](stock_segment& one) {
        const bool is_new = !one.has_received(from, what);
        one.receive(from, what);
        return is_new;
    });
    visit(from, [&](stock_segment& one) {
        const bool mine = one.outgoing == what;
        one.sent_well(what);
        return mine;
    });
}

// Everything to one segment, until that has enough.
void sharded_stock::body::gather(std::int64_t count, std::size_t to) {
    for (std::size_t i = 0; i < size(); ++i) {
        if (i == to) continue;
        bool enough = false;
        visit(to, [&](const stock_segment& one) {
            enough = one.amount >= count;
            return false;
        });
        if (enough) return;
        const stock_segment seen = visit(i, [&](stock_segment& one) {
            if (one.outgoing || one.amount == 0) return false;
            one.send(one.amount, to);
            return true;
        });
        if (seen.outgoing) deliver(i, *seen.outgoing);
    }
}

// The same share to each segment, so that they sell side by side. What cannot be moved now sells where it is.
void sharded_stock::body::spread(std::int64_t count, std::size_t from) {
    const std::int64_t share = count / static_cast<std::int64_t>(size());
    if (share < least_share) return;
    try {
        for (std::size_t to = 0; to < size(); ++to) {
            if (to == from) continue;
            visit(to, [](const stock_segment&) { return false; });  // nothing is sent to whom nobody can reach
            const stock_segment seen = visit(from, [&](stock_segment& one) {
                if (one.outgoing || one.amount < share) return false;
                one.send(share, to);
                return true;
            });
            if (seen.outgoing) deliver(from, *seen.outgoing);
        }
    } catch (...) {
        return;
    }
}

std::size_t sharded_stock::body::home_of(std::string_view key) const {
    const auto last = key.find_last_not_of("0123456789");
    const std::string_view digits = last == key.npos ? key : key.substr(last + 1);
    if (how.by == choice::hash || digits.empty()) return patterns::hash_of(key) % size();
    std::size_t rest = 0;
    for (const char each : digits) rest = (rest * 10 + static_cast<std::size_t>(each - '0')) % size();
    return rest;
}

// Its own first; then the others, for each key in another order, so that the buyers of an empty one do not all go to the same.
std::vector<std::size_t> sharded_stock::body::order_for(std::string_view key) const {
    std::vector<std::size_t> order(size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::swap(order.front(), order[home_of(key)]);
    std::minstd_rand dice{static_cast<std::minstd_rand::result_type>(patterns::hash_of(key) >> 20)};
    std::shuffle(order.begin() + 1, order.end(), dice);
    return order;
}

std::vector<std::size_t> sharded_stock::body::promising_first(std::string_view key) const {
    std::vector<std::size_t> order = order_for(key);
    std::stable_partition(order.begin(), order.end(), [&](std::size_t which) { return !unpromising[which]; });
    return order;
}

// One round over the segments, until one has enough. False: none has; what they had is in `seen`.
bool sharded_stock::body::sell(std::string_view key, std::int64_t count, unique_function<void()>& inside,
                               std::vector<stock_segment>& seen) {
    std::exception_ptr unreachable;
    for (const std::size_t which : promising_first(key)) {
        bool enough = false;
        try {
            seen[which] = visit(which, [&](stock_segment& one) {
                if (one.amount < count) return false;
                enough = true;
                if (inside) {
                    const patterns::inside selling{segments.front().locks, name};
                    inside();
                }
                one.amount -= count;
                return true;
            });
            if (enough) return true;
            if (seen[which].outgoing) deliver(which, *seen[which].outgoing);
        } catch (...) {
            if (enough) throw;  // it may have been taken
            unreachable = std::current_exception();
        }
    }
    if (unreachable) std::rethrow_exception(unreachable);
    return false;
}

// Sold out, if two rounds in a row find too little and nothing has moved between them: what moves could be missed at both ends.
bool sharded_stock::body::take(std::string_view key, std::int64_t count, unique_function<void()>& inside) {
    std::vector<stock_segment> last;
    for (;;) {
        std::vector<stock_segment> seen(size());
        if (sell(key, count, inside, seen)) return true;
        if (patterns::total_of(seen) >= count) {
            gather(count, 0);
        } else if (std::equal(seen.begin(), seen.end(), last.begin(), last.end(),
                              [](const auto& a, const auto& b) { return a.moved_as(b); })) {
            return false;
        }
        last = std::move(seen);
    }
}

void sharded_stock::body::too_much() const {
    patterns::refuse_option(pattern, name, "nobody can count so many");
}

// To which segment.
std::size_t sharded_stock::body::add(std::string_view key, std::int64_t count) {
    if (!compared) refuse_other_lists();
    compared = true;
    std::exception_ptr unreachable;
    for (const std::size_t which : order_for(key)) {
        bool reached = false;
        try {
            visit(which, [&](stock_segment& one) {
                if (one.amount > most() - count) too_much();
                reached = true;
                one.amount += count;
                return true;
            });
            return which;
        } catch (...) {
            if (reached) throw;  // it may have been added
            unreachable = std::current_exception();
        }
    }
    std::rethrow_exception(unreachable);
}

sharded_stock::sharded_stock(std::vector<segment> segments, std::string name)
    : sharded_stock(std::move(segments), std::move(name), options{}) {}

sharded_stock::sharded_stock(std::vector<segment> segments, std::string name, options how)
    : body_(new body{std::move(segments), std::move(name), how}) {
    if (body_->segments.empty()) patterns::refuse_option(body::pattern, body_->name, "at least one segment is needed");
    for (const segment& each : body_->segments) patterns::require_tokens(each.locks, body::pattern, body_->name);
    patterns::require_name(body_->segments.back().locks, body::pattern, body_->name, body_->key_of(body_->size() - 1));
    patterns::require_wait(how.wait, body::pattern, body_->name);
}

sharded_stock::~sharded_stock() = default;

std::size_t sharded_stock::segment_of(std::string_view key) const noexcept {
    return body_->home_of(key);
}

bool sharded_stock::take(std::string_view key, std::int64_t count, unique_function<void()> inside) {
    if (count <= 0) patterns::refuse_option(body::pattern, body_->name, "take at least one");
    body_->refuse_misuse();
    return body_->take(key, count, inside);
}

void sharded_stock::add(std::string_view key, std::int64_t count) {
    if (count <= 0) patterns::refuse_option(body::pattern, body_->name, "add at least one");
    body_->refuse_misuse();
    body_->spread(count, body_->add(key, count));
}

std::int64_t sharded_stock::audit() {
    body_->refuse_misuse();
    std::vector<hold> all;
    std::vector<stock_segment> seen;
    for (std::size_t i = 0; i < body_->size(); ++i) all.push_back(body_->lock(i));
    for (std::size_t i = 0; i < body_->size(); ++i) seen.push_back(body_->read(i, all[i]));
    for (const hold& each : all)
        if (!each.valid())
            throw error(errc::lost,
                        patterns::called(body::pattern, body_->name) + ": a segment was lost while it was counted");
    return patterns::total_of(seen);
}

}  // namespace mortise::inline v0
