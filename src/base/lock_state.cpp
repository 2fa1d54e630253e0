#include "base/lock_state.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::inline v0::base {

using verdict_of = spi::claim_answer::verdict;

namespace {
constexpr std::size_t few = 16;  // holders that are searched one by one
}

mortise::holder kept_claim::describe(spi::time_point now) const {
    mortise::holder who;
    if (from) {
        who.host = from->host;
        who.pid = from->pid;
    }
    who.label = label;
    who.held_for = now - since;
    who.token = token::of(counter, 0);
    return who;
}

instant instant::at(spi::time_point now) {
    using namespace std::chrono;
    const auto wall = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
    // A wall clock before 1970 or absurdly far ahead would eat the token's bits; the last counter keeps tokens rising.
    constexpr std::int64_t most = std::int64_t{1} << 53;
    return {now, static_cast<std::uint64_t>(std::clamp<std::int64_t>(wall, 0, most))};
}

kept_claim kept_claim::of(const spi::claim_request& wanted, std::uint64_t session,
                          std::shared_ptr<const whereabouts> from) {
    return {.id = wanted.id,
            .session = session,
            .weight = wanted.weight,
            .detached = wanted.kept_by == kept_by::lease,
            .lease = wanted.lease,
            .from = std::move(from),
            .label = std::string(wanted.label)};
}

spi::claim_answer lock_state::verdict::answer(const spi::claim_request& wanted, spi::time_point now) const {
    spi::claim_answer said{.is = is, .grant = grant};
    if (is == verdict_of::refused) {
        said.reason = reason;
        if (reason == errc::kind_mismatch)
            said.detail = "in use with capacity " + std::to_string(capacity) + ", claimed with " +
                          std::to_string(wanted.capacity) + ": all claims on a name must agree";
    }
    if (in_the_way != nullptr) said.standing.holder = in_the_way->describe(now);
    if (place != 0) said.standing.place = place;
    said.standing.free_in = free_in;
    return said;
}

auto lock_state::claim(kept_claim wanted, std::uint32_t capacity, bool queue_up, instant at, effects& out) -> verdict {
    settle(at, out);

    if (const std::size_t at_index = index_of(wanted.id); at_index < holders_.size()) {  // a repeat: the same answer
        const kept_claim& mine = holders_[at_index];
        return {.is = verdict_of::granted, .grant = {mine.counter, mine.lease, mine.counted_from()}};
    }
    if (remembered(wanted.id, at.now) != nullptr) return {.is = verdict_of::refused, .reason = errc::cancelled};
    if (!idle() && capacity != capacity_)
        return {.is = verdict_of::refused, .reason = errc::kind_mismatch, .capacity = capacity_};
    capacity_ = capacity;

    const auto standing = [&](verdict_of is, std::size_t place) {
        verdict v{.is = is, .place = place};
        if (!holders_.empty()) v.in_the_way = &holders_.front();
        if (next_end_ != spi::time_point::max()) v.free_in = next_end_ - at.now;
        return v;
    };

    if (queue_ && queue_->find(wanted.id) != nullptr) return standing(verdict_of::queued, queue_->place_of(wanted.id));
    if (waiting() == 0 && used_ + wanted.weight <= capacity_)
        return {.is = verdict_of::granted, .grant = install(std::move(wanted), at)};
    if (!queue_up) return standing(verdict_of::busy, waiting() + 1);

    if (!queue_) queue_ = std::make_unique<queue>();
    queue_->numbers.emplace(wanted.id, queue_->first + queue_->line.size());
    queue_->line.push_back({std::move(wanted)});
    return standing(verdict_of::queued, waiting());
}

spi::renewal_answer lock_state::renew(const claim_id& id, spi::duration lease, instant at, effects& out) {
    settle(at, out);
    const std::size_t index = index_of(id);
    if (index == holders_.size()) return spi::renewal_answer::lost;
    kept_claim& mine = holders_[index];
    if (mine.lease && at.now + lease >= mine.ends) {  // a late duplicate never shortens
        mine.lease = lease;
        mine.ends = at.now + lease;
        if (holders_.size() <= few) find_next_end();  // of many, settle() finds it when the old one has passed
    }
    return spi::renewal_answer::renewed;
}

spi::release_answer lock_state::release(const claim_id& id, std::uint64_t by, instant at, effects& out) {
    settle(at, out);
    if (const std::size_t index = index_of(id); index < holders_.size()) {
        const kept_claim& mine = holders_[index];
        if (mine.session != by) out.lost.push_back({mine.session, id, {mine.counter, mine.lease, mine.since}});
        remove_holder(index);
        remember(id, spi::release_answer::released, at.now);
        grant_next(at, out);
        return spi::release_answer::released;
    }
    if (queue_ && queue_->find(id) != nullptr) {
        queue_->leave(id);
        remember(id, spi::release_answer::released, at.now);
        grant_next(at, out);  // it may have been the big one at the head
        return spi::release_answer::released;
    }
    if (ended* old = remembered(id, at.now)) {
        if (!old->answer) old->answer = stranger_answer();
        return *old->answer;
    }
    // Never seen, or long ago. If its claim is still on its way it must not be granted when it arrives.
    const spi::release_answer answer = stranger_answer();
    remember(id, answer, at.now);
    return answer;
}

bool lock_state::break_hold(std::uint64_t counter, instant at, effects& out) {
    settle(at, out);
    const auto it =
        std::find_if(holders_.begin(), holders_.end(), [&](const kept_claim& held) { return held.counter == counter; });
    if (it == holders_.end()) return false;
    out.lost.push_back({it->session, it->id, {it->counter, it->lease, it->since}});
    remember(it->id, std::nullopt, at.now);
    remove_holder(static_cast<std::size_t>(it - holders_.begin()));
    ++last_;
    grant_next(at, out);
    return true;
}

void lock_state::drop_session(std::uint64_t session, instant at, effects& out) {
    settle(at, out);
    for (std::size_t i = holders_.size(); i-- > 0;)
        if (holders_[i].session == session && !holders_[i].detached) remove_holder(i);
    if (queue_) {
        std::vector<claim_id> leaving;
        for (const waiter& w : queue_->line)
            if (!w.gone && w.claim.session == session) leaving.push_back(w.claim.id);
        for (const claim_id& id : leaving) queue_->leave(id);
    }
    grant_next(at, out);
}

void lock_state::settle(instant at, effects& out) {
    if (at.now < next_end_) return;
    for (std::size_t i = holders_.size(); i-- > 0;) {
        if (at.now < holders_[i].ends) continue;
        remember(holders_[i].id, std::nullopt, at.now);
        remove_holder(i);
    }
    find_next_end();
    grant_next(at, out);
}

bool lock_state::forgettable(spi::time_point now) const noexcept {
    return idle() && std::all_of(ended_.begin(), ended_.end(), [&](const ended& e) { return e.until <= now; });
}

bool lock_state::knows(const claim_id& id) const noexcept {
    return index_of(id) < holders_.size() || (queue_ && queue_->numbers.contains(id));
}

std::size_t lock_state::index_of(const claim_id& id) const noexcept {
    if (indices_) {
        const auto it = indices_->find(id);
        return it == indices_->end() ? holders_.size() : it->second;
    }
    std::size_t index = 0;
    while (index < holders_.size() && holders_[index].id != id) ++index;
    return index;
}

spi::grant lock_state::install(kept_claim wanted, instant at) {
    last_ = std::max(last_ + 1, at.wall_us);
    wanted.counter = last_;
    wanted.since = at.now;
    wanted.ends = wanted.lease ? at.now + *wanted.lease : spi::time_point::max();
    next_end_ = std::min(next_end_, wanted.ends);
    const spi::grant given{wanted.counter, wanted.lease, at.now};
    add_holder(std::move(wanted));
    return given;
}

void lock_state::add_holder(kept_claim granted) {
    used_ += granted.weight;
    holders_.push_back(std::move(granted));
    if (indices_) {
        indices_->emplace(holders_.back().id, holders_.size() - 1);
    } else if (holders_.size() > few) {
        indices_ = std::make_unique<std::unordered_map<claim_id, std::size_t>>();
        for (std::size_t i = 0; i < holders_.size(); ++i) indices_->emplace(holders_[i].id, i);
    }
}

void lock_state::remove_holder(std::size_t index) {
    used_ -= holders_[index].weight;
    if (indices_) {  // the last one takes its place
        indices_->erase(holders_[index].id);
        if (index + 1 < holders_.size()) {
            (*indices_)[holders_.back().id] = index;
            holders_[index] = std::move(holders_.back());
        }
        holders_.pop_back();
        if (holders_.empty()) indices_.reset();
    } else {
        holders_.erase(holders_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    if (holders_.size() <= few) find_next_end();
}

void lock_state::find_next_end() noexcept {
    next_end_ = spi::time_point::max();
    for (const kept_claim& held : holders_) next_end_ = std::min(next_end_, held.ends);
}

void lock_state::grant_next(instant at, effects& out) {
    while (waiting() > 0 && used_ + queue_->line.front().claim.weight <= capacity_) {
        kept_claim next = std::move(queue_->line.front().claim);
        queue_->leave(next.id);
        const claim_id id = next.id;
        const std::uint64_t session = next.session;
        out.granted.push_back({session, id, install(std::move(next), at)});
    }
    if (idle()) queue_.reset();  // not sooner: a contended name would build it anew at every turn
}

void lock_state::remember(const claim_id& id, std::optional<spi::release_answer> answer, spi::time_point now) {
    const ended memory{id, now + remembered_for, answer};
    if (ended_.size() < most_remembered) {
        ended_.push_back(memory);
    } else {
        ended_[oldest_ended_] = memory;
        oldest_ended_ = (oldest_ended_ + 1) % most_remembered;
    }
}

lock_state::ended* lock_state::remembered(const claim_id& id, spi::time_point now) noexcept {
    for (ended& e : ended_)
        if (e.id == id && now < e.until) return &e;
    return nullptr;
}

spi::release_answer lock_state::stranger_answer() const noexcept {
    return holders_.empty() ? spi::release_answer::expired : spi::release_answer::taken_over;
}

auto lock_state::queue::find(const claim_id& id) noexcept -> waiter* {
    const auto it = numbers.find(id);
    return it == numbers.end() ? nullptr : &line[it->second - first];
}

std::size_t lock_state::queue::place_of(const claim_id& id) const noexcept {
    const std::size_t index = numbers.at(id) - first;
    if (gaps == 0) return index + 1;
    return 1 + static_cast<std::size_t>(std::count_if(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(index),
                                                      [](const waiter& w) { return !w.gone; }));
}

void lock_state::queue::leave(const claim_id& id) {
    find(id)->gone = true;
    ++gaps;
    numbers.erase(id);
    trim();
}

void lock_state::queue::trim() {
    while (!line.empty() && line.front().gone) {
        line.pop_front();
        ++first;
        --gaps;
    }
    if (gaps <= line.size() / 2) return;
    std::deque<waiter> dense;
    for (waiter& w : line)
        if (!w.gone) dense.push_back(std::move(w));
    line = std::move(dense);
    gaps = 0;
    first = 0;
    numbers.clear();
    for (std::size_t i = 0; i < line.size(); ++i) numbers.emplace(line[i].claim.id, i);
}

}  // namespace mortise::inline v0::base
