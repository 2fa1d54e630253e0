// What is kept in a ledger's blocks: names in buckets, their claims in lists, what is free, and ids that ended lately.
#include "stores/host/format.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

namespace mortise::inline v0::stores::host {
namespace {

using namespace format;

// The same in every build: it is part of the format.
std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

}  // namespace

std::uint32_t* ledger::buckets() const noexcept {
    return reinterpret_cast<std::uint32_t*>(front_ + buckets_at);
}

// Nothing of it counts once something is wrong.
void ledger::access::commit() noexcept {
    if (!sound()) return;
    of_.commit();
    freed_ = false;
}

void ledger::access::pause() noexcept {
    if (of_.head().journal.count > std::size(of_.head().journal.words) / 2) commit();
}

bool ledger::access::has(block_number n) const noexcept {
    return of_.block_at(n) != nullptr;
}

const claim_block* ledger::access::claim_at(block_number n) const noexcept {
    const block_head* const there = of_.block_at(n);
    return there != nullptr && there->kind == block_head::claim ? static_cast<const claim_block*>(there) : nullptr;
}

void ledger::access::broken() noexcept {
    of_.damaged_ = true;
}

bool ledger::access::sound() const noexcept {
    return !of_.damaged();
}

void ledger::access::must_be_sound() const {
    if (!sound()) of_.fail_damaged();
}

bool ledger::access::left(block_number n) noexcept {
    return left_word(&claim(n)).load(std::memory_order_relaxed) == mark_of(claim(n).id);
}

// Both neighbours must agree. So no list leads in a circle: its first has nobody before it, and no other has two.
block_number ledger::access::first(const claim_list& of) noexcept {
    if (of.first != 0 && claim(of.first).previous != 0) broken();
    return sound() ? of.first : 0;
}

block_number ledger::access::last(const claim_list& of) noexcept {
    if (of.last != 0 && claim(of.last).next != 0) broken();
    return sound() ? of.last : 0;
}

block_number ledger::access::after(block_number n) noexcept {
    const block_number next = claim(n).next;
    if (next != 0 && claim(next).previous != n) broken();
    return sound() ? next : 0;
}

block_number ledger::access::before(block_number n) noexcept {
    const block_number previous = claim(n).previous;
    if (previous != 0 && claim(previous).next != n) broken();
    return sound() ? previous : 0;
}

void ledger::grow() {
    header& h = head();
    check_in_place();
    const std::uint32_t more = std::clamp(h.total_blocks, first_blocks, 32 * first_blocks);  // others wait meanwhile
    if (std::uint64_t{h.total_blocks} + more > most_blocks)
        throw error(errc::exhausted,
                    "host store in " + where_.directory + ": it holds 1 GiB of locks, which is the limit");
    const std::uint64_t end = blocks_at + std::uint64_t{h.total_blocks} * block_size;
    make_room(end, end + std::uint64_t{more} * block_size);
    reach(h.total_blocks + more);
    const block_number first = h.total_blocks + 1;
    for (block_number n = first; n < first + more; ++n) {
        block(n)->kind = block_head::free;
        block(n)->next = n + 1 < first + more ? n + 1 : h.free_first;
    }
    for (std::uint32_t* word : {&h.total_blocks, &h.free_first, &h.free_blocks}) note(word, sizeof *word);
    h.total_blocks += more;
    h.free_blocks += more;
    h.free_first = first;
}

block_number ledger::access::allocate(std::uint32_t kind) {
    if (freed_) commit();  // a block that may come back must not be written to
    header& h = of_.head();
    if (h.free_first == 0) of_.grow();
    const block_number n = h.free_first;
    block_head& fresh = *of_.block(n);
    if (fresh.kind != block_head::free) broken();
    must_be_sound();
    set(h.free_first, fresh.next);
    set(h.free_blocks, h.free_blocks - 1);
    set(fresh.kind, kind);
    set(fresh.next, 0);
    return n;
}

void ledger::access::free(block_number n) noexcept {
    header& h = of_.head();
    block_head& old = *of_.block(n);
    set(old.kind, block_head::free);
    set(old.next, h.free_first);
    set(h.free_first, n);
    set(h.free_blocks, h.free_blocks + 1);
    freed_ = true;
}

std::uint32_t& ledger::access::bucket_of(std::string_view name) noexcept {
    return of_.buckets()[fnv1a(name) % bucket_count];
}

block_number ledger::access::find(std::string_view text) noexcept {
    block_number n = bucket_of(text);
    for (std::uint32_t met = 0; n != 0 && name(n).text() != text; n = name(n).next)
        if (++met > of_.reachable_.load(std::memory_order_relaxed)) broken();
    return sound() ? n : 0;
}

block_number ledger::access::add(std::string_view text) {
    const block_number n = allocate(block_head::name);
    name_block& fresh = name(n);
    fresh.holders = {};
    fresh.queue = {};
    fresh.capacity = 0;
    fresh.name_size = static_cast<std::uint32_t>(text.size());
    fresh.used = 0;
    fresh.next_end = INT64_MAX;
    std::memcpy(fresh.name, text.data(), text.size());
    std::uint32_t& bucket = bucket_of(text);
    set(fresh.next, bucket);
    set(bucket, n);
    return n;
}

void ledger::access::remove(block_number n) noexcept {
    std::uint32_t* link = &bucket_of(name(n).text());
    while (*link != n && *link != 0) link = &name(*link).next;
    if (*link == 0) return broken();
    set(*link, name(n).next);
    free(n);
}

void ledger::access::append(claim_list& to, block_number n) noexcept {
    set(claim(n).previous, to.last);
    set(claim(n).next, 0);
    if (to.last != 0) set(claim(to.last).next, n);
    if (to.first == 0) set(to.first, n);
    set(to.last, n);
    set(to.count, to.count + 1);
}

void ledger::access::prepend(claim_list& to, block_number n) noexcept {
    set(claim(n).previous, 0);
    set(claim(n).next, to.first);
    if (to.first != 0) set(claim(to.first).previous, n);
    if (to.last == 0) set(to.last, n);
    set(to.first, n);
    set(to.count, to.count + 1);
}

void ledger::access::unlink(claim_list& from, block_number n) noexcept {
    const claim_block& gone = claim(n);
    if (gone.previous != 0) set(claim(gone.previous).next, gone.next);
    if (gone.next != 0) set(claim(gone.next).previous, gone.previous);
    if (from.first == n) set(from.first, gone.next);
    if (from.last == n) set(from.last, gone.previous);
    set(from.count, from.count - 1);
}

void ledger::access::each(const std::function<void(block_number)>& visit) {
    std::vector<block_number> names;
    for (std::uint32_t bucket = 0; bucket < bucket_count; ++bucket)
        for (block_number n = of_.buckets()[bucket]; n != 0; n = name(n).next) {
            names.push_back(n);
            if (names.size() > of_.reachable_.load(std::memory_order_relaxed)) broken();
        }
    must_be_sound();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i % 64 == 0) of_.head().turns.fetch_add(1, std::memory_order_relaxed);  // it takes long, but it moves
        visit(names[i]);
    }
}

std::string ledger::access::problem() {
    const header& h = of_.head();
    std::vector<bool> met(of_.reachable_.load() + 1);
    std::string wrong;
    if (!sound()) return "something leads astray";
    const auto meet = [&](block_number n, std::uint32_t kind, const char* where) {
        if (!has(n)) {
            wrong = std::string(where) + " leads outside";
        } else if (met[n]) {
            wrong = std::string(where) + " leads to a block that is already in use";
        } else if (of_.block_at(n)->kind != kind) {
            wrong = std::string(where) + " leads to a block of another kind";
        } else {
            met[n] = true;
        }
        return wrong.empty();
    };
    std::uint32_t used = 0;
    const auto walk = [&](block_number of, const claim_list& list, const char* where) {
        std::uint32_t count = 0;
        block_number last = 0;
        for (block_number n = list.first; n != 0; last = n, n = claim(n).next, ++count) {
            if (!meet(n, block_head::claim, where)) return false;
            if (claim(n).of != of || claim(n).previous != last) wrong = std::string(where) + " is linked wrongly";
        }
        if (count != list.count || last != list.last) wrong = std::string(where) + " has a wrong end";
        used += count;
        return wrong.empty();
    };
    for (std::uint32_t bucket = 0; bucket < bucket_count; ++bucket)
        for (block_number n = of_.buckets()[bucket]; n != 0; n = name(n).next) {
            if (!meet(n, block_head::name, "a bucket")) return wrong;
            ++used;
            if (!walk(n, name(n).holders, "a list of holders") || !walk(n, name(n).queue, "a queue")) return wrong;
            std::uint64_t weight = 0;
            for (block_number c = name(n).holders.first; c != 0; c = claim(c).next) weight += claim(c).weight;
            if (weight != name(n).used) return "the weight of the holders is wrong";
        }
    std::uint32_t free = 0;
    for (block_number n = h.free_first; n != 0; n = of_.block_at(n)->next, ++free)
        if (!meet(n, block_head::free, "the free list")) return wrong;
    if (free != h.free_blocks)
        return "the free list has " + std::to_string(free) + " blocks, not " + std::to_string(h.free_blocks);
    if (used + free != h.total_blocks) return std::to_string(h.total_blocks - used - free) + " blocks are lost";
    return {};
}

base::ended_claim& ledger::access::last_end(const claim_id& id) noexcept {
    return reinterpret_cast<base::ended_claim*>(of_.front_ + ends_at)[id.bits[0] % end_count];
}

// Without the journal: a process that is killed in here leaves something that nobody finds.
void ledger::access::remember(const base::ended_claim& old) noexcept {
    base::ended_claim& place = last_end(old.id);
    place.until = {};
    in_this_order();
    place.id = old.id;
    place.answer = old.answer;
    in_this_order();
    place.until = old.until;
}

std::uint64_t ledger::access::last_counter() const noexcept {
    return of_.head().last_counter;
}

void ledger::access::raise_counter(std::uint64_t to) noexcept {
    of_.head().last_counter = std::max(of_.head().last_counter, to);
}

}  // namespace mortise::inline v0::stores::host
