#include "base/lock_state.hpp"

#include "base/word_pool.hpp"

namespace mortise::inline v0::base {
namespace {

constexpr std::size_t few = 16;  // holders that are searched one by one

}  // namespace

auto lock_state::find_holder(const claim_id& id) const noexcept -> holder_spot {
    if (indices_) {
        const auto it = indices_->find(id);
        return it == indices_->end() ? holder_spot{} : holder_spot{it->second};
    }
    for (std::size_t i = 0; i < holders_.size(); ++i)
        if (holders_[i].id == id) return i;
    return {};
}

auto lock_state::find_counter(std::uint64_t counter) const noexcept -> holder_spot {
    for (std::size_t i = 0; i < holders_.size(); ++i)
        if (holders_[i].counter == counter) return i;
    return {};
}

spi::grant lock_state::hold(kept_claim&& granted) {
    if (granted.keeps) {
        granted.word = word_pool::take();
        granted.word->since = granted.since.time_since_epoch().count();
        granted.word->value = spi::grant_word::of(spi::grant_word::mark_of(granted.id), 0,
                                                  waiting() > 0 ? spi::grant_word::wanted : spi::grant_word::busy);
    }
    used_ += granted.weight;
    next_end_ = std::min(next_end_, granted.ends);
    holders_.push_back(std::move(granted));
    if (indices_) {
        indices_->emplace(holders_.back().id, holders_.size() - 1);
    } else if (holders_.size() > few) {
        indices_ = std::make_unique<std::unordered_map<claim_id, std::size_t>>();
        for (std::size_t i = 0; i < holders_.size(); ++i) indices_->emplace(holders_[i].id, i);
    }
    return holders_.back().grant();
}

void lock_state::enqueue(kept_claim wanted) {
    if (!queue_) queue_ = std::make_unique<queue>();
    queue_->numbers.emplace(wanted.id, queue_->first + queue_->line.size());
    queue_->line.push_back({std::move(wanted)});
}

void lock_state::enqueue_first(kept_claim wanted) {
    if (!queue_) queue_ = std::make_unique<queue>();
    queue_->numbers.emplace(wanted.id, --queue_->first);  // may pass zero: only differences count
    queue_->line.push_front({std::move(wanted)});
}

const kept_claim& lock_state::promote(std::uint64_t counter, spi::time_point since) {
    waiter& first = queue_->line.front();
    kept_claim next = std::move(first.claim);
    queue_->leave(next.id);
    next.counter = counter;
    next.since = since;
    next.ends = next.lease ? since + *next.lease : spi::time_point::max();
    hold(std::move(next));
    return holders_.back();
}

void lock_state::extend(holder_spot spot, spi::duration lease, spi::time_point ends) {
    kept_claim& mine = holders_[*spot];
    mine.lease = lease;
    mine.ends = ends;
    if (holders_.size() <= few) find_next_end();  // of many, settle() finds it when the old one has passed
}

void lock_state::remove(holder_spot spot) {
    take_out(*spot);
    if (holders_.size() <= few) find_next_end();
    tidy();
}

void lock_state::leave(waiter_spot spot) {
    queue_->leave(claim_id{spot->claim.id});
    tidy();
}

void lock_state::take_out(std::size_t index) {
    if (const kept_claim& gone = holders_[index]; gone.word != nullptr) {
        end_word(*gone.word, gone.id);
        word_pool::give(gone.word);
    }
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
}

void lock_state::find_next_end() noexcept {
    next_end_ = spi::time_point::max();
    for (const kept_claim& held : holders_) next_end_ = std::min(next_end_, held.ends);
}

// Not sooner: a contended name would build its queue anew at every turn.
void lock_state::tidy() noexcept {
    if (idle()) queue_.reset();
}

auto lock_state::queue::find(const claim_id& id) const noexcept -> const waiter* {
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
    const auto it = numbers.find(id);
    line[it->second - first].gone = true;
    ++gaps;
    numbers.erase(it);
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
