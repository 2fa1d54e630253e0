#include "base/line.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace mortise::inline v0::base {

namespace {

using entries = std::vector<const line_entry*>;

std::uint64_t weight_of(const entries& some) {
    std::uint64_t sum = 0;
    for (const line_entry* one : some) sum += one->weight;
    return sum;
}

// Few of these, all of which have to be in the line to keep the weight out: so nothing changes before one of them goes. The
// nearest, so that those who leave in order wake one after the other; and the heaviest of them, so that a reader looks at
// the writer before it and not at the readers between.
std::vector<claim_id> enough_of(const entries& before, std::uint64_t weight, std::uint64_t capacity) {
    entries near;
    std::uint64_t sum = weight;
    for (auto it = before.rbegin(); it != before.rend() && sum <= capacity; ++it) {
        near.push_back(*it);
        sum += (*it)->weight;
    }
    std::ranges::stable_sort(near, std::greater{}, &line_entry::weight);
    std::vector<claim_id> enough;
    sum = weight;
    for (auto it = near.begin(); it != near.end() && sum <= capacity; ++it) {
        enough.push_back((*it)->id);
        sum += (*it)->weight;
    }
    return enough;
}

// The line as read once.
class reading {
public:
    reading(std::span<const line_entry> line, const line_entry& mine) : mine_(mine) {
        for (const line_entry& one : line) {
            if (!one.to_be_exchanged())
                in_line_.push_back(&one);
            else if (std::ranges::find(line, one.instead_of, &line_entry::id) == line.end())
                continue;  // lost, and only not yet withdrawn: it is in nobody's way
            else if (first_exchange_ == nullptr || one.arrived < first_exchange_->arrived)
                first_exchange_ = &one;
        }
        std::ranges::sort(in_line_, {}, &line_entry::stands_at);
        capacity_ = in_line_.empty() ? mine.capacity : in_line_.front()->capacity;
        for (const line_entry* one : in_line_) (holds(*one) ? holders_ : waiters_).push_back(one);
    }

    line_verdict of_a_claim(std::uint64_t floor) const {
        using is = line_verdict::verdict;
        line_verdict v = known();
        if (mine_.capacity != capacity_) {
            v.is = is::other_kind;
            v.watch = {in_line_.front()->id};
            return v;
        }
        const auto me = std::ranges::find(waiters_, &mine_);
        if (me == waiters_.end()) {
            v.is = is::holds;
            v.to_be_stamped = floor > mine_.arrived && !mine_.stamped;
            return v;
        }
        v.is = is::waits;
        v.place = static_cast<std::size_t>(me - waiters_.begin()) + 1;
        const entries before(in_line_.begin(), std::ranges::find(in_line_, &mine_));
        const auto stranger = std::ranges::find_if(before, [&](auto* one) { return one->capacity != capacity_; });
        if (stranger != before.end())
            v.watch = {(*stranger)->id};
        else if (weight_of(before) + mine_.weight > capacity_)
            v.watch = enough_of(before, mine_.weight, capacity_);
        else  // kept out by an exchange, which leaves the line or makes the old hold leave it
            v.watch = {first_exchange_->id, first_exchange_->instead_of};
        return v;
    }

    line_verdict of_an_exchange() const {
        using is = line_verdict::verdict;
        line_verdict v = known();
        const auto old = std::ranges::find(holders_, mine_.instead_of, &line_entry::id);
        if (old == holders_.end()) {
            v.is = is::lost;
            return v;
        }
        entries others = holders_;
        std::erase(others, *old);
        if (weight_of(others) + mine_.weight <= capacity_) {
            v.is = is::may_exchange;
            // While all of these are in the line, nobody else comes to hold.
            v.guards = {mine_.id};
            if (first_exchange_ != &mine_) v.guards.push_back(first_exchange_->id);
            for (const line_entry* one : holders_) v.guards.push_back(one->id);
            if (!waiters_.empty()) v.guards.push_back(waiters_.front()->id);
            return v;
        }
        if (first_exchange_ != &mine_) {
            v.is = is::would_deadlock;
            return v;
        }
        v.is = is::waits;
        v.place = 1;
        v.watch = enough_of(others, mine_.weight, capacity_);
        v.watch.push_back(mine_.instead_of);
        return v;
    }

private:
    bool holds(const line_entry& one) {
        if (one.capacity != capacity_ || stranger_seen_) {
            stranger_seen_ = true;
            return false;
        }
        used_ += one.weight;
        if (used_ > capacity_) return false;
        const bool kept_out = first_exchange_ != nullptr && first_exchange_->arrived < one.arrived && one.place == 0;
        return !kept_out;
    }

    line_verdict known() const {
        line_verdict v;
        v.capacity = capacity_;
        const auto other = std::ranges::find_if(
            holders_, [&](const line_entry* one) { return one != &mine_ && one->id != mine_.instead_of; });
        if (other != holders_.end()) v.holder = (*other)->id;
        return v;
    }

    const line_entry& mine_;
    entries in_line_;                             // by where they stand
    const line_entry* first_exchange_ = nullptr;  // that waits
    std::uint32_t capacity_ = 0;
    std::uint64_t used_ = 0;
    bool stranger_seen_ = false;
    entries holders_;
    entries waiters_;
};

// As the line of a mutex is: the first holds, and all others watch whoever came just before them.
bool only_exclusive(std::span<const line_entry> line) {
    return std::ranges::all_of(line, [&](const line_entry& one) {
        return one.capacity == line.front().capacity && one.weight == one.capacity && one.instead_of == claim_id{} &&
               one.place == 0;
    });
}

line_verdict judge_exclusive(std::span<const line_entry> line, const line_entry& mine, std::uint64_t floor) {
    line_verdict v;
    v.capacity = mine.capacity;
    const line_entry* first = nullptr;
    const line_entry* before = nullptr;
    for (const line_entry& one : line) {
        if (one.arrived >= mine.arrived) continue;
        ++v.place;
        if (first == nullptr || one.arrived < first->arrived) first = &one;
        if (before == nullptr || one.arrived > before->arrived) before = &one;
    }
    if (first == nullptr) {
        v.is = line_verdict::verdict::holds;
        v.to_be_stamped = floor > mine.arrived && !mine.stamped;
        return v;
    }
    v.is = line_verdict::verdict::waits;
    v.watch = {before->id};
    v.holder = first->id;
    return v;
}

}  // namespace

line_verdict judge(std::span<const line_entry> line, const claim_id& mine, std::uint64_t floor) {
    const auto found = std::ranges::find(line, mine, &line_entry::id);
    if (found == line.end()) return {};
    if (only_exclusive(line)) return judge_exclusive(line, *found, floor);
    const reading read(line, *found);
    return found->to_be_exchanged() ? read.of_an_exchange() : read.of_a_claim(floor);
}

bool all_hold(std::span<const line_entry> line) {
    std::uint64_t sum = 0;
    for (const line_entry& one : line) {
        if (one.to_be_exchanged() || one.capacity != line.front().capacity) return false;
        sum += one.weight;
    }
    return line.empty() || sum <= line.front().capacity;
}

judged_line::judged_line(std::vector<line_entry> line) : line_(std::move(line)) {
    index_.reserve(line_.size());
    for (std::size_t i = 0; i < line_.size(); ++i) index_.emplace(line_[i].id, i);  // the first, as judge() finds it
    if (!only_exclusive(line_)) return;
    order_.resize(line_.size());
    stands_.resize(line_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t i) { return line_[i].arrived; });
    for (std::size_t at = 0; at < order_.size(); ++at) stands_[order_[at]] = at;
}

std::optional<std::size_t> judged_line::index_of(const claim_id& id) const {
    const auto it = index_.find(id);
    return it != index_.end() ? std::optional{it->second} : std::nullopt;
}

line_verdict judged_line::of(const claim_id& mine) const {
    const auto index = index_of(mine);
    if (!index || order_.empty()) return judge(line_, mine);
    const std::size_t at = stands_[*index];
    line_verdict v;
    v.capacity = line_.front().capacity;
    v.is = at == 0 ? line_verdict::verdict::holds : line_verdict::verdict::waits;
    if (at == 0) return v;
    v.watch = {line_[order_[at - 1]].id};
    v.place = at;
    v.holder = line_[order_.front()].id;
    return v;
}

// Without an exchange everybody stands where they arrived, so nothing that is younger matters. With one, or without what is
// older, it is known only that who has too much before it waits.
std::optional<line_verdict> judge_part(const line_part& part, const claim_id& mine, std::uint64_t floor) {
    const auto found = std::ranges::find(part.end, mine, &line_entry::id);
    if (found == part.end.end()) return std::nullopt;
    const bool in_order = floor == 0;
    if (!part.missing_before && (!part.missing_after || (in_order && !found->to_be_exchanged())))
        return judge(part.end, mine, floor);
    if (part.first && (part.first->capacity != found->capacity || part.first->to_be_exchanged())) return std::nullopt;
    if (found->to_be_exchanged() || found->place != 0) return std::nullopt;

    entries before;
    for (const line_entry& one : part.end) {
        if (one.capacity != found->capacity) return std::nullopt;
        if (one.arrived < found->arrived && !one.to_be_exchanged()) before.push_back(&one);
    }
    std::ranges::sort(before, {}, &line_entry::arrived);
    if (weight_of(before) + found->weight <= found->capacity) return std::nullopt;
    line_verdict v;
    v.is = line_verdict::verdict::waits;
    v.capacity = found->capacity;
    v.watch = enough_of(before, found->weight, found->capacity);
    if (in_order && part.first) v.holder = part.first->id;
    return v;
}

}  // namespace mortise::inline v0::base
