#include "stores/host/ledger_access.hpp"

#include "base/grant_words.hpp"
#include "stores/host/temporary_error.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
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

std::uint32_t& bucket_of(const ledger_file& file, std::string_view name) noexcept {
    return file.buckets()[fnv1a(name) % bucket_count];
}

}  // namespace

ledger_access::ledger_access(ledger& of, std::chrono::milliseconds at_most)
    : of_(of), file_(of.file_), threads_(of.threads_, std::defer_lock) {
    if (at_most >= std::chrono::seconds{1}) {  // no thread keeps it for much longer
        threads_.lock();
    } else {
        const auto until = std::chrono::steady_clock::now() + at_most;
        while (!threads_.try_lock()) {
            if (std::chrono::steady_clock::now() > until)
                throw temporary_error(errc::unreachable, "host store in " + of_.directory() +
                                                             ": another thread of this process is inside it");
            std::this_thread::sleep_for(std::chrono::microseconds{100});
        }
    }
    if (file_.damaged()) file_.fail_damaged();
    process_slots& slots = of_.slots_;
    reading_ = !slots.acquired();
    if (reading_) slots.begin_read(at_most);
    try {
        of_.lock_.take(reading_ ? process_slots::reader_word : slots.word(), at_most);
        try {
            file_.reach();
            if (file_.header().journal.count != 0) {  // its writer was killed
                file_.undo();
                file_.reach();
            }
        } catch (...) {
            of_.lock_.give_back();
            throw;
        }
    } catch (...) {
        if (reading_) slots.end_read();
        throw;
    }
}

ledger_access::~ledger_access() {
    if (file_.header().journal.count != 0) file_.undo();
    of_.lock_.give_back();
    if (reading_) of_.slots_.end_read();
}

// Nothing of it counts once something is wrong.
void ledger_access::commit() noexcept {
    if (!sound()) return;
    end_word();
    file_.commit();
    freed_ = false;
}

void ledger_access::end_with_commit(spi::grant_word& word, const claim_id& id) noexcept {
    end_word();  // of another claim: a name has one at most
    ending_ = &word;
    ending_id_ = id;
}

void ledger_access::end_word() noexcept {
    if (ending_ != nullptr) base::end_word(*std::exchange(ending_, nullptr), ending_id_);
}

void ledger_access::commit_if_full() noexcept {
    if (file_.header().journal.count > std::size(file_.header().journal.words) / 2) commit();
}

const claim_block* ledger_access::claim_at(block_number n) const noexcept {
    const block_head* const there = file_.block_at(n);
    return there != nullptr && there->kind == block_head::claim ? static_cast<const claim_block*>(there) : nullptr;
}

void ledger_access::broken() noexcept {
    file_.mark_damaged();
}

bool ledger_access::sound() const noexcept {
    return !file_.damaged();
}

void ledger_access::must_be_sound() const {
    if (!sound()) file_.fail_damaged();
}

bool ledger_access::abandoned(block_number n) noexcept {
    return abandoned_mark(&claim(n)).load(std::memory_order_relaxed) == mark_of(claim(n).id);
}

// Both neighbours must agree. So no list is cyclic: its first has none before it, and no other has two.
block_number ledger_access::first(const claim_list& of) noexcept {
    if (of.first != 0 && claim(of.first).previous != 0) broken();
    return sound() ? of.first : 0;
}

block_number ledger_access::last(const claim_list& of) noexcept {
    if (of.last != 0 && claim(of.last).next != 0) broken();
    return sound() ? of.last : 0;
}

block_number ledger_access::after(block_number n) noexcept {
    const block_number next = claim(n).next;
    if (next != 0 && claim(next).previous != n) broken();
    return sound() ? next : 0;
}

block_number ledger_access::before(block_number n) noexcept {
    const block_number previous = claim(n).previous;
    if (previous != 0 && claim(previous).next != n) broken();
    return sound() ? previous : 0;
}

block_number ledger_access::allocate(std::uint32_t kind) {
    if (freed_) commit();  // a block that may come back must not be written to
    file_header& h = file_.header();
    if (h.free_first == 0) file_.grow();
    const block_number n = h.free_first;
    block_head& fresh = *file_.block(n);
    if (fresh.kind != block_head::free) broken();
    must_be_sound();
    set(h.free_first, fresh.next);
    set(h.free_blocks, h.free_blocks - 1);
    set(fresh.kind, kind);
    set(fresh.next, 0);
    return n;
}

void ledger_access::free(block_number n) noexcept {
    file_header& h = file_.header();
    block_head& old = *file_.block(n);
    set(old.kind, block_head::free);
    set(old.next, h.free_first);
    set(h.free_first, n);
    set(h.free_blocks, h.free_blocks + 1);
    freed_ = true;
}

// Where a claim is, its name is.
block_number ledger_access::find(std::string_view text, block_number hint) noexcept {
    const claim_block* const there = claim_at(hint);
    const block_head* const of = there != nullptr ? file_.block_at(there->of) : nullptr;
    const bool found =
        of != nullptr && of->kind == block_head::name && static_cast<const name_block*>(of)->text() == text;
    return found && sound() ? there->of : find(text);
}

block_number ledger_access::find(std::string_view text) noexcept {
    block_number n = bucket_of(file_, text);
    for (std::uint32_t met = 0; n != 0 && name(n).text() != text; n = name(n).next)
        if (++met > file_.block_count()) broken();
    return sound() ? n : 0;
}

block_number ledger_access::add(std::string_view text) {
    const block_number n = allocate(block_head::name);
    name_block& fresh = name(n);
    fresh.holders = {};
    fresh.queue = {};
    fresh.capacity = 0;
    fresh.name_size = static_cast<std::uint32_t>(text.size());
    fresh.used = 0;
    fresh.next_end = INT64_MAX;
    std::memcpy(fresh.name, text.data(), text.size());
    std::uint32_t& bucket = bucket_of(file_, text);
    set(fresh.next, bucket);
    set(bucket, n);
    return n;
}

void ledger_access::remove(block_number n) noexcept {
    std::uint32_t* link = &bucket_of(file_, name(n).text());
    while (*link != n && *link != 0) link = &name(*link).next;
    if (*link == 0) return broken();
    set(*link, name(n).next);
    free(n);
}

void ledger_access::append(claim_list& to, block_number n) noexcept {
    set(claim(n).previous, to.last);
    set(claim(n).next, 0);
    if (to.last != 0) set(claim(to.last).next, n);
    if (to.first == 0) set(to.first, n);
    set(to.last, n);
    set(to.count, to.count + 1);
}

void ledger_access::prepend(claim_list& to, block_number n) noexcept {
    set(claim(n).previous, 0);
    set(claim(n).next, to.first);
    if (to.first != 0) set(claim(to.first).previous, n);
    if (to.last == 0) set(to.last, n);
    set(to.first, n);
    set(to.count, to.count + 1);
}

void ledger_access::unlink(claim_list& from, block_number n) noexcept {
    const claim_block& gone = claim(n);
    if (gone.previous != 0) set(claim(gone.previous).next, gone.next);
    if (gone.next != 0) set(claim(gone.next).previous, gone.previous);
    if (from.first == n) set(from.first, gone.next);
    if (from.last == n) set(from.last, gone.previous);
    set(from.count, from.count - 1);
}

void ledger_access::each(const std::function<void(block_number)>& visit) {
    each_of_some(0, std::numeric_limits<std::size_t>::max(), visit);
}

std::uint32_t ledger_access::each_of_some(std::uint32_t bucket, std::size_t so_many,
                                          const std::function<void(block_number)>& visit) {
    std::vector<block_number> names;
    for (; bucket < bucket_count && names.size() < so_many; ++bucket)
        for (block_number n = file_.buckets()[bucket]; n != 0; n = name(n).next) {
            names.push_back(n);
            if (names.size() > file_.block_count()) broken();
        }
    must_be_sound();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i % 64 == 0) file_.header().turns.fetch_add(1, std::memory_order_relaxed);  // long, but it makes progress
        visit(names[i]);
    }
    return bucket;
}

base::ended_claim& ledger_access::last_end(const claim_id& id) noexcept {
    return file_.ended_claims()[id.bits[0] % end_count];
}

// Without the journal: a process that is killed in here leaves something that nobody finds.
void ledger_access::remember(const base::ended_claim& old) noexcept {
    base::ended_claim& place = last_end(old.id);
    place.until = {};
    in_this_order();
    place.id = old.id;
    place.answer = old.answer;
    in_this_order();
    place.until = old.until;
}

std::uint64_t ledger_access::last_counter() const noexcept {
    return file_.header().last_counter;
}

void ledger_access::raise_counter(std::uint64_t to) noexcept {
    file_.header().last_counter = std::max(file_.header().last_counter, to);
}

}  // namespace mortise::inline v0::stores::host
