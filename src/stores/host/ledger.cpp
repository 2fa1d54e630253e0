#include "stores/host/ledger.hpp"

#include "base/process.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

constexpr char magic[24] = "mortise host store\n";
constexpr std::uint32_t version = 1;
constexpr std::uint32_t block_size = 256;
constexpr std::uint32_t payload = block_size - 4;  // after the link to the next block
constexpr std::uint32_t bucket_count = 4096;
constexpr std::uint64_t buckets_at = 64 * 1024;
constexpr std::uint64_t blocks_at = buckets_at + bucket_count * 4;
constexpr std::uint64_t most_blocks = 4u << 20;  // 1 GiB of them
constexpr std::uint32_t first_blocks = 1024;
constexpr std::uint32_t reserved_blocks = 64;  // even a release needs a few for a moment, also when the disk is full
constexpr std::uint64_t mapped = blocks_at + most_blocks * block_size;

// Fields of a name's record. The first word of every block is its link on the free list, and stays untouched in a block
// that is being filled: until the commit it is still free.
constexpr std::size_t link_field = 0;
constexpr std::size_t next_in_bucket_field = 4;
constexpr std::size_t state_head_field = 8;
constexpr std::size_t state_size_field = 12;
constexpr std::size_t name_size_field = 16;
constexpr std::size_t name_field = 20;

std::uint32_t blocks_for(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + payload - 1) / payload);
}

// The same in every build: it is part of the format.
std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

std::array<char, 40> boot_id() {
    std::array<char, 40> id{};
    std::ifstream{"/proc/sys/kernel/random/boot_id"}.read(id.data(), 36);
    return id;
}

// 10 bits of seat, 20 bits of its term, and whether somebody waits: a futex word has 32.
constexpr std::uint32_t term_mask = (1u << 20) - 1;
std::uint32_t code_of(const seat& who) {
    return who.number << 21 | (who.term & term_mask) << 1;
}

long futex(std::atomic<std::uint32_t>& word, int op, std::uint32_t value, const timespec* timeout) {
    return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), op, value, timeout, nullptr, 0);
}

}  // namespace

struct ledger::change {
    std::uint64_t offset;
    std::uint32_t value;
};

struct ledger::header {
    char magic[24];
    std::uint32_t version;
    std::uint32_t block_size;
    std::array<char, 40> boot;
    std::atomic<std::uint32_t> lock;
    std::uint32_t total_blocks;
    std::uint32_t free_head;
    std::uint32_t free_blocks;
    std::uint64_t floor;
    std::atomic<std::uint64_t> turns;  // how often the lock was taken: whether its owner moves
    struct {
        std::atomic<std::uint32_t> whole;
        std::uint32_t count;
        struct {
            std::uint64_t offset;
            std::uint64_t value;
        } words[8];
    } journal;
    seat_record seat_records[seats::count];
};

struct ledger::spot {
    std::uint32_t record = 0;  // 0: there is none
    std::uint64_t link = 0;    // the word that leads to it, or would
};

std::shared_ptr<ledger> ledger::open(const place& where) {
    // Never emptied: see the header. A file that was deleted and made anew is another one. A child of fork has no seat and
    // perhaps a mutex that nobody will ever unlock, so it starts anew and leaves what it inherited alone.
    struct registry {
        std::uint64_t generation;
        registry* inherited;
        std::mutex mutex{};
        std::map<std::pair<dev_t, ino_t>, std::shared_ptr<ledger>> opened{};
    };
    static std::atomic<registry*> current{nullptr};
    registry* mine = current.load();
    if (mine == nullptr || mine->generation != base::fork_generation()) {
        std::unique_ptr<registry> fresh{new registry{.generation = base::fork_generation(), .inherited = mine}};
        if (current.compare_exchange_strong(mine, fresh.get())) mine = fresh.release();
    }
    std::scoped_lock guard{mine->mutex};
    const int directory = where.open_directory();
    struct stat is {};
    const bool known = ::fstatat(directory, "locks", &is, 0) == 0;
    ::close(directory);
    if (known)
        if (const auto it = mine->opened.find({is.st_dev, is.st_ino}); it != mine->opened.end()) return it->second;
    auto made = std::make_shared<ledger>(where);
    ::fstat(made->file_, &is);
    return mine->opened.emplace(std::pair{is.st_dev, is.st_ino}, std::move(made)).first->second;
}

ledger::ledger(const place& where) : where_(where) {
    static_assert(sizeof(header) <= buckets_at);
    const int directory = where_.open_directory();
    try {
        map(directory);
        seats_ = std::make_unique<host::seats>(directory, where_.file_mode(directory), head().seat_records,
                                               where_.directory);
    } catch (...) {
        ::close(directory);
        if (base_ != nullptr) ::munmap(base_, mapped);
        if (file_ >= 0) ::close(file_);
        throw;
    }
    ::close(directory);
}

ledger::~ledger() {
    ::munmap(base_, mapped);
    ::close(file_);
}

// Opens the file, or makes it; two that do so at once take turns. Nothing is overwritten that is not ours: the magic is
// written last, so a file without it is either foreign or was never finished and holds nothing.
void ledger::map(int directory_fd) {
    const auto fail = [&](errc code, const std::string& what) {
        throw error(code, "host store in " + where_.directory + ": " + what);
    };
    const mode_t mode = where_.file_mode(directory_fd);
    // Not O_CREAT at once: in a sticky directory the kernel may refuse that for a file that belongs to another user.
    file_ = ::openat(directory_fd, "locks", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file_ < 0 && errno == ENOENT)
        file_ = ::openat(directory_fd, "locks", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file_ < 0) fail(errc::unreachable, std::string("cannot open 'locks': ") + std::strerror(errno));
    ::fchmod(file_, mode);
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        if (std::chrono::steady_clock::now() > give_up)
            fail(errc::unreachable,
                 "another process keeps 'locks' locked while opening it (stopped?); see: fuser locks");
        std::this_thread::yield();
    }
    struct stat is {};
    ::fstat(file_, &is);
    header found{};
    const auto got = ::pread(file_, &found, offsetof(header, lock), 0);
    const bool whole = got == static_cast<ssize_t>(offsetof(header, lock));
    const bool ours = whole && std::memcmp(found.magic, magic, sizeof magic) == 0;
    const auto first_size = static_cast<off_t>(blocks_at + std::uint64_t{first_blocks} * block_size);
    const auto zero = [](char c) { return c == 0; };
    const auto zeros_only = [&] {
        std::string all(static_cast<std::size_t>(is.st_size), 'x');
        return ::pread(file_, all.data(), all.size(), 0) == is.st_size && std::all_of(all.begin(), all.end(), zero);
    };
    const bool blank = is.st_size == first_size ? std::all_of(std::begin(found.magic), std::end(found.magic), zero) &&
                                                      found.version <= version
                                                : is.st_size < first_size && zeros_only();
    if (!ours && !blank) fail(errc::unreachable, "'locks' is not a file of Mortise; move it away");
    if (ours && found.version != version)
        fail(errc::unreachable, "'locks' has format " + std::to_string(found.version) + ", this build reads format " +
                                    std::to_string(version) + "; use a newer build or another directory");
    if (!ours) {
        if (const int failed = ::posix_fallocate(file_, 0, first_size); failed != 0)
            fail(errc::exhausted, std::string("cannot make 'locks': ") + std::strerror(failed));
        is.st_size = first_size;
    }
    void* at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) fail(errc::exhausted, std::string("cannot map 'locks': ") + std::strerror(errno));
    base_ = static_cast<unsigned char*>(at);
    header& h = head();
    if (!ours) {
        h.version = version;
        h.block_size = block_size;
        h.boot = boot_id();
        h.total_blocks = first_blocks;
        h.free_blocks = first_blocks;
        h.free_head = 1;
        for (std::uint32_t i = 1; i <= first_blocks; ++i) word(offset_of(i, link_field)) = i < first_blocks ? i + 1 : 0;
        h.journal.whole.exchange(0);  // a fence: everything above is written before the magic
        std::memcpy(h.magic, magic, sizeof magic);
    } else if (static_cast<std::uint64_t>(is.st_size) < blocks_at + std::uint64_t{h.total_blocks} * block_size) {
        fail(errc::unreachable, "'locks' was cut short; nothing can be read from it safely; move it away");
    }
    ::flock(file_, LOCK_UN);
}

auto ledger::head() const noexcept -> header& {
    return *reinterpret_cast<header*>(base_);
}

unsigned char* ledger::block(std::uint32_t index) const noexcept {
    return base_ + blocks_at + std::uint64_t{index - 1} * block_size;
}

std::uint64_t ledger::offset_of(std::uint32_t index, std::size_t field) const noexcept {
    return blocks_at + std::uint64_t{index - 1} * block_size + field;
}

std::uint32_t& ledger::word(std::uint64_t offset) const noexcept {
    return *reinterpret_cast<std::uint32_t*>(base_ + offset);
}

std::uint64_t ledger::blocks_in_use() const noexcept {
    return head().total_blocks - head().free_blocks;
}

// --- the lock ---------------------------------------------------------------------------------------------------------

void ledger::take() {
    std::atomic<std::uint32_t>& lock = head().lock;
    const std::uint32_t me = code_of(seats_->mine());
    std::uint32_t seen = 0;
    if (!lock.compare_exchange_strong(seen, me)) {
        const timespec nap{0, 5'000'000};
        while (true) {
            seen = lock.load();
            if (seen == 0) {
                if (lock.compare_exchange_strong(seen, me | 1)) break;
                continue;
            }
            if ((seen & 1) == 0 && !lock.compare_exchange_strong(seen, seen | 1)) continue;
            if (futex(lock, FUTEX_WAIT, seen | 1, &nap) == 0 || errno != ETIMEDOUT) continue;
            seat owner{seen >> 21, 0};
            const std::uint32_t term = head().seat_records[owner.number].term.load();
            if ((term & term_mask) == (seen >> 1 & term_mask)) owner.term = term;
            if (!seats_->alive(owner)) {
                seen |= 1;
                if (lock.compare_exchange_strong(seen, me | 1)) break;
            } else if (not_moving_for() > patience) {
                throw error(errc::unreachable, "host store in " + where_.directory + ": " + seats_->describe(owner) +
                                                   " has been inside the store for " +
                                                   std::to_string(patience.count()) +
                                                   " ms and does not move; is it stopped? kill -CONT it, or kill it");
            }
        }
    }
    head().turns.fetch_add(1, std::memory_order_relaxed);
    finish_journal();
}

// Since when the lock has been in the same hands, as far as this process saw. Kept between calls, so that of many threads
// that meet a stopped owner only the first waits in full.
std::chrono::steady_clock::duration ledger::not_moving_for() noexcept {
    const std::uint64_t turns = head().turns.load(std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now();
    if (turns != seen_turns_) {
        seen_turns_ = turns;
        seen_since_ = now;
    }
    return now - seen_since_;
}

void ledger::give_back() noexcept {
    if ((head().lock.exchange(0) & 1) != 0) futex(head().lock, FUTEX_WAKE, 1, nullptr);
}

void ledger::finish_journal() noexcept {
    auto& journal = head().journal;
    if (journal.whole.load(std::memory_order_acquire) == 0) return;
    for (std::uint32_t i = 0; i < journal.count; ++i)
        word(journal.words[i].offset) = static_cast<std::uint32_t>(journal.words[i].value);
    journal.whole.exchange(0);  // also a fence: no store that comes next may be moved before it
}

void ledger::commit(const std::vector<change>& words) noexcept {
    auto& journal = head().journal;
    journal.count = static_cast<std::uint32_t>(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) journal.words[i] = {words[i].offset, words[i].value};
    journal.whole.exchange(1);
    finish_journal();
}

void ledger::grow() {
    header& h = head();
    const std::uint32_t more = std::max(h.total_blocks, first_blocks);
    if (std::uint64_t{h.total_blocks} + more > most_blocks)
        throw error(errc::exhausted,
                    "host store in " + where_.directory + ": it holds 1 GiB of locks, which is the limit");
    const auto from = static_cast<off_t>(blocks_at + std::uint64_t{h.total_blocks} * block_size);
    if (const int failed = ::posix_fallocate(file_, from, off_t{more} * block_size); failed != 0)
        throw error(errc::exhausted, "host store in " + where_.directory + ": cannot grow: " + std::strerror(failed) +
                                         "; free some space on its file system");
    const std::uint32_t first = h.total_blocks + 1;
    for (std::uint32_t i = 0; i < more; ++i)
        word(offset_of(first + i, link_field)) = i + 1 < more ? first + i + 1 : h.free_head;
    commit({{offsetof(header, total_blocks), h.total_blocks + more},
            {offsetof(header, free_head), first},
            {offsetof(header, free_blocks), h.free_blocks + more}});
}

auto ledger::find(std::string_view name) const -> spot {
    spot at{.link = buckets_at + fnv1a(name) % bucket_count * 4};
    while ((at.record = word(at.link)) != 0) {
        const unsigned char* record = block(at.record);
        const std::uint32_t size = word(offset_of(at.record, name_size_field));
        if (size == name.size() && std::memcmp(record + name_field, name.data(), size) == 0) return at;
        at.link = offset_of(at.record, next_in_bucket_field);
    }
    return at;
}

// --- access -----------------------------------------------------------------------------------------------------------

ledger::access::access(ledger& of) : of_(of), here_(of.threads_) {
    of_.take();
}

ledger::access::~access() {
    of_.give_back();
}

std::string ledger::access::read(std::string_view name) const {
    const spot at = of_.find(name);
    if (at.record == 0) return {};
    std::uint32_t left = of_.word(of_.offset_of(at.record, state_size_field));
    std::string state;
    state.reserve(left);
    for (std::uint32_t b = of_.word(of_.offset_of(at.record, state_head_field)); left > 0;
         b = of_.word(of_.offset_of(b, link_field))) {
        const std::uint32_t here = std::min(left, payload);
        state.append(reinterpret_cast<const char*>(of_.block(b) + 4), here);
        left -= here;
    }
    return state;
}

void ledger::access::write(std::string_view name, std::string_view state) {
    header& h = of_.head();
    const spot at = of_.find(name);
    if (at.record == 0 && state.empty()) return;

    const bool fresh = at.record == 0;
    const std::uint32_t needed = blocks_for(state.size()) + (fresh ? 1 : 0);
    const std::uint32_t old_count = fresh ? 0 : blocks_for(of_.word(of_.offset_of(at.record, state_size_field)));
    while (!state.empty() && h.free_blocks < needed + reserved_blocks) {
        try {
            of_.grow();
        } catch (const error&) {
            if (fresh || needed > old_count || needed > h.free_blocks) throw;
            break;  // it takes no more than it gives back
        }
    }

    // The old chain, to be given back: its last block leads to what is left of the free list.
    std::uint32_t old_head = 0;
    std::uint32_t old_last = 0;
    if (!fresh) {
        old_head = old_count > 0 ? of_.word(of_.offset_of(at.record, state_head_field)) : 0;
        old_last = old_head;
        for (std::uint32_t i = 1; i < old_count; ++i) old_last = of_.word(of_.offset_of(old_last, link_field));
    }

    if (state.empty()) {  // forget the name
        const std::uint32_t rest = h.free_head;
        std::vector<change> words{{at.link, of_.word(of_.offset_of(at.record, next_in_bucket_field))},
                                  {of_.offset_of(at.record, link_field), old_count > 0 ? old_head : rest},
                                  {offsetof(header, free_head), at.record},
                                  {offsetof(header, free_blocks), h.free_blocks + old_count + 1}};
        if (old_count > 0) words.push_back({of_.offset_of(old_last, link_field), rest});
        return of_.commit(words);
    }

    // Fill free blocks, which are already linked to each other.
    std::uint32_t next = h.free_head;
    const std::uint32_t record = fresh ? next : at.record;
    if (fresh) next = of_.word(of_.offset_of(next, link_field));
    const std::uint32_t new_head = next;
    for (std::size_t done = 0; done < state.size(); done += payload) {
        std::memcpy(of_.block(next) + 4, state.data() + done, std::min<std::size_t>(payload, state.size() - done));
        next = of_.word(of_.offset_of(next, link_field));
    }
    const std::uint32_t rest = next;
    const auto size = static_cast<std::uint32_t>(state.size());
    std::vector<change> words{{offsetof(header, free_head), old_count > 0 ? old_head : rest},
                              {offsetof(header, free_blocks), h.free_blocks - needed + old_count}};
    if (old_count > 0) words.push_back({of_.offset_of(old_last, link_field), rest});
    if (fresh) {
        of_.word(of_.offset_of(record, next_in_bucket_field)) = 0;
        of_.word(of_.offset_of(record, state_head_field)) = new_head;
        of_.word(of_.offset_of(record, state_size_field)) = size;
        of_.word(of_.offset_of(record, name_size_field)) = static_cast<std::uint32_t>(name.size());
        std::memcpy(of_.block(record) + name_field, name.data(), name.size());
        words.push_back({at.link, record});
    } else {
        words.push_back({of_.offset_of(record, state_head_field), new_head});
        words.push_back({of_.offset_of(record, state_size_field), size});
    }
    of_.commit(words);
}

void ledger::access::each(const std::function<void(std::string_view, std::string_view)>& visit) const {
    std::vector<std::string> names;
    for (std::uint32_t bucket = 0; bucket < bucket_count; ++bucket)
        for (std::uint32_t r = of_.word(buckets_at + bucket * 4); r != 0;
             r = of_.word(of_.offset_of(r, next_in_bucket_field)))
            names.emplace_back(reinterpret_cast<const char*>(of_.block(r) + name_field),
                               of_.word(of_.offset_of(r, name_size_field)));
    for (const std::string& name : names) visit(name, read(name));
}

std::string ledger::access::problem() const {
    const header& h = of_.head();
    std::vector<bool> met(h.total_blocks + 1);
    std::string wrong;
    const auto meet = [&](std::uint32_t index, const char* where) {
        if (index == 0 || index > h.total_blocks) {
            wrong = std::string(where) + " leads outside";
        } else if (met[index]) {
            wrong = std::string(where) + " leads to a block that is already in use";
        } else {
            met[index] = true;
        }
        return wrong.empty();
    };
    std::uint32_t used = 0;
    for (std::uint32_t bucket = 0; bucket < bucket_count; ++bucket)
        for (std::uint32_t r = of_.word(buckets_at + bucket * 4); r != 0;
             r = of_.word(of_.offset_of(r, next_in_bucket_field))) {
            if (!meet(r, "a bucket")) return wrong;
            ++used;
            std::uint32_t b = of_.word(of_.offset_of(r, state_head_field));
            for (std::uint32_t n = blocks_for(of_.word(of_.offset_of(r, state_size_field))); n > 0; --n) {
                if (!meet(b, "a state")) return wrong;
                ++used;
                b = of_.word(of_.offset_of(b, link_field));
            }
        }
    std::uint32_t free = 0;
    for (std::uint32_t b = h.free_head; b != 0; b = of_.word(of_.offset_of(b, link_field)), ++free)
        if (!meet(b, "the free list")) return wrong;
    if (free != h.free_blocks)
        return "the free list has " + std::to_string(free) + " blocks, not " + std::to_string(h.free_blocks);
    if (used + free != h.total_blocks) return std::to_string(h.total_blocks - used - free) + " blocks are lost";
    return {};
}

bool ledger::access::of_this_boot() const {
    return of_.head().boot == boot_id();
}

void ledger::access::mark_this_boot() noexcept {
    of_.head().boot = boot_id();
}

std::uint64_t ledger::access::floor() const noexcept {
    return of_.head().floor;
}

void ledger::access::raise_floor(std::uint64_t counter) noexcept {
    of_.head().floor = std::max(of_.head().floor, counter);
}

}  // namespace mortise::inline v0::stores::host
