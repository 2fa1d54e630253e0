#include "stores/host/named_state.hpp"

namespace mortise::inline v0::stores::host {
namespace {

std::int64_t count(spi::time_point t) noexcept {
    return t.time_since_epoch().count();
}
spi::time_point at_count(std::int64_t n) noexcept {
    return spi::time_point{spi::duration{n}};
}

}  // namespace

named_state::named_state(ledger_access& in, std::string_view name, block_number hint)
    : in_(in), at_(in.find(name, hint)), hint_(hint), text_(name) {}

void named_state::finish() noexcept {
    if (at_ != 0 && idle()) {
        in_.remove(at_);
        at_ = 0;
    }
    in_.commit();
}

spi::time_point named_state::next_end() const noexcept {
    return at_ == 0 ? spi::time_point::max() : at_count(name().next_end);
}

block_number named_state::find_holder(const claim_id& id) const noexcept {
    block_number n = first_holder();
    while (n != 0 && in_.claim(n).id != id) n = after(n);
    return n;
}

block_number named_state::find_counter(std::uint64_t counter) const noexcept {
    block_number n = first_holder();
    while (n != 0 && in_.claim(n).counter != counter) n = after(n);
    return n;
}

// A hint that is wrong is found out: no two claims ever have the same id.
block_number named_state::find_waiter(const claim_id& id) const noexcept {
    if (const claim_block* there = at_ != 0 ? in_.claim_at(hint_) : nullptr)
        if (there->of == at_ && there->id == id && there->counter == 0) return hint_;
    block_number n = first_in_queue();
    while (n != 0 && in_.claim(n).id != id) n = after(n);
    return n;
}

std::size_t named_state::place_of(block_number n, std::size_t most) const noexcept {
    std::size_t place = 1;
    for (block_number ahead = in_.before(n); ahead != 0 && place < most; ahead = in_.before(ahead)) ++place;
    return place;
}

base::kept_claim named_state::at(block_number n) const {
    claim_block& b = in_.claim(n);
    base::kept_claim c;
    c.id = b.id;
    c.session = b.session;
    c.weight = b.weight;
    c.wait_slot = b.wait_slot;
    c.instead_of = b.instead_of;
    c.detached = (b.flags & claim_block::detached) != 0;
    c.keeps = (b.flags & claim_block::keeps) != 0;
    if (b.has_word()) {
        c.word = &b.word;
    }
    if (b.lease != 0) c.lease = spi::duration{b.lease};
    c.counter = b.counter;
    c.since = at_count(b.since);
    c.ends = at_count(b.ends);
    return c;
}

mortise::holder named_state::describe(block_number n, spi::time_point now) const {
    const claim_block& b = in_.claim(n);
    mortise::holder who;
    const std::size_t label = std::min<std::size_t>(b.label_size, sizeof b.text);
    who.label.assign(b.text, label);
    who.host.assign(b.text + label, std::min<std::size_t>(b.host_size, sizeof b.text - label));
    who.pid = b.pid;
    who.held_for = now - std::clamp(at(n).since_now(), spi::time_point{}, now);
    who.token = token::of(b.counter, 0);
    return who;
}

void named_state::begin(std::uint32_t capacity) {
    if (at_ == 0) at_ = in_.add(text_);
    in_.set(name().capacity, capacity);
}

block_number named_state::write(const base::kept_claim& c) {
    const block_number n = in_.allocate(block_head::claim);
    claim_block& b = in_.claim(n);
    b.of = at_;
    b.id = c.id;
    b.session = c.session;
    b.weight = c.weight;
    b.wait_slot = c.wait_slot;
    b.instead_of = c.instead_of;
    const bool may_keep = c.keeps && !c.lease && !c.detached && !c.replaces();
    b.flags = (c.detached ? claim_block::detached : 0) | (may_keep ? claim_block::keeps : 0);
    b.pid = c.from ? static_cast<std::int32_t>(c.from->pid) : 0;
    b.lease = c.lease ? c.lease->count() : 0;
    b.counter = c.counter;
    b.since = count(c.since);
    b.ends = count(c.ends);
    const std::string_view host = c.from ? std::string_view(c.from->host) : std::string_view();
    b.label_size = static_cast<std::uint16_t>(c.label.size());
    b.host_size = static_cast<std::uint16_t>(std::min(host.size(), sizeof b.text - c.label.size()));
    c.label.copy(b.text, b.label_size);
    host.copy(b.text + b.label_size, b.host_size);
    return n;
}

void named_state::now_holds(block_number n) noexcept {
    claim_block& b = in_.claim(n);
    in_.append(name().holders, n);
    in_.set(name().used, name().used + b.weight);
    if (b.ends < name().next_end) in_.set(name().next_end, b.ends);
    if (b.has_word()) give_word(b);
    in_.commit_if_full();
}

// Without the journal: nobody looks at it before the commit.
void named_state::give_word(claim_block& b) noexcept {
    using w = spi::grant_word;
    b.word.since.store(0, std::memory_order_relaxed);
    b.word.value.store(w::of(w::mark_of(b.id), 0, waiting() > 0 ? w::wanted : w::busy));
}

spi::grant named_state::hold(const base::kept_claim& granted) {
    hint_ = write(granted);
    now_holds(hint_);
    spi::grant given = granted.grant();
    given.word = has_word(hint_) ? &in_.claim(hint_).word : nullptr;  // the mapping lasts
    return given;
}

void named_state::enqueue(const base::kept_claim& wanted) {
    hint_ = write(wanted);
    in_.append(name().queue, hint_);
    in_.commit_if_full();
}

void named_state::enqueue_first(const base::kept_claim& wanted) {
    hint_ = write(wanted);
    in_.prepend(name().queue, hint_);
    in_.commit_if_full();
}

base::kept_claim named_state::promote(std::uint64_t counter, spi::time_point since) noexcept {
    const block_number n = name().queue.first;
    claim_block& b = in_.claim(n);
    in_.unlink(name().queue, n);
    in_.set(b.counter, counter);
    in_.set(b.since, count(since));
    in_.set(b.ends, b.lease != 0 ? count(since) + b.lease : count(spi::time_point::max()));
    now_holds(n);
    return at(n);
}

void named_state::extend(block_number n, spi::duration lease, spi::time_point ends) noexcept {
    claim_block& b = in_.claim(n);
    const std::int64_t before = b.ends;
    in_.set(b.lease, lease.count());
    in_.set(b.ends, count(ends));
    if (before == name().next_end) find_next_end();
}

void named_state::remove(block_number n) noexcept {
    claim_block& b = in_.claim(n);
    if (b.has_word()) in_.end_with_commit(b.word, b.id);
    in_.unlink(name().holders, n);
    in_.set(name().used, name().used - b.weight);
    if (b.ends == name().next_end && b.lease != 0) find_next_end();
    in_.free(n);
    in_.commit_if_full();
}

void named_state::leave(block_number n) noexcept {
    in_.unlink(name().queue, n);
    in_.free(n);
    in_.commit_if_full();
}

base::ended_claim* named_state::remembered(const claim_id& id, spi::time_point now) noexcept {
    base::ended_claim& old = in_.last_end(id);
    return old.id == id && now < old.until ? &old : nullptr;
}

void named_state::find_next_end() noexcept {
    std::int64_t first = count(spi::time_point::max());
    for (block_number n = first_holder(); n != 0; n = after(n)) first = std::min(first, in_.claim(n).ends);
    in_.set(name().next_end, first);
}

}  // namespace mortise::inline v0::stores::host
