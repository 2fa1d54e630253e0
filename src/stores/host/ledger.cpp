#include "stores/host/ledger.hpp"

#include "base/process.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

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
constexpr std::uint32_t version = 2;
constexpr std::uint32_t block_size = 512;
constexpr std::uint32_t berth_count = 16384;
constexpr std::uint32_t end_count = 4096;
constexpr std::uint32_t bucket_count = 16384;
constexpr std::uint64_t berths_at = 64 * 1024;
constexpr std::uint64_t ends_at = berths_at + berth_count * 4;
constexpr std::uint64_t buckets_at = ends_at + end_count * sizeof(base::ended_claim);
constexpr std::uint64_t blocks_at = buckets_at + bucket_count * 4;
constexpr std::uint64_t most_blocks = 2u << 20;  // 1 GiB of them
constexpr std::uint32_t first_blocks = 512;
constexpr std::uint64_t mapped = blocks_at + most_blocks * block_size;

static_assert(sizeof(base::ended_claim) == 32);
static_assert(sizeof(name_block) <= block_size && sizeof(claim_block) <= block_size);

// The same in every build: it is part of the format.
std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

// Empty: it cannot be told.
std::array<char, 40> boot_id() {
    std::array<char, 40> id{};
    std::ifstream{"/proc/sys/kernel/random/boot_id"}.read(id.data(), 36);
    return id[35] != 0 ? id : std::array<char, 40>{};
}

// A futex word has 32 bits: taken, 10 of seat, 20 of its term, and whether somebody waits.
constexpr std::uint32_t taken = 1u << 31;
constexpr std::uint32_t term_mask = (1u << 20) - 1;
std::uint32_t code_of(const seat& who) {
    return taken | who.number << 21 | (who.term & term_mask) << 1;
}
std::uint32_t number_in(std::uint32_t code) {
    return code >> 21 & (seats::count - 1);
}
static_assert(seats::count == 1024);

long futex(std::atomic<std::uint32_t>& word, int op, std::uint32_t value, const timespec* timeout) {
    return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), op, value, timeout, nullptr, 0);
}

// The descriptors of every ledger that this process opened, or inherited by fork.
std::array<std::atomic<int>, 256> known_descriptors;
std::atomic<std::size_t> known_descriptor_count{0};

void remember_descriptor(int fd) noexcept {
    known_descriptors[known_descriptor_count.fetch_add(1) % known_descriptors.size()] = fd + 1;
}

// Whether one is open by now that is not among them yet. Set under the registry's mutex, so whoever finds it set there is a
// child of a fork in the midst of that, and has inherited a descriptor that nobody noted.
std::atomic<int> descriptors_not_noted{0};

// Record locks belong to the process: a second opener in it would take our seat, and closing its descriptor would free it.
bool opened_by_a_stranger(const struct stat& file) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failed)) {
        const int fd = std::atoi(entry.path().filename().c_str());
        struct stat is {};
        // By its path: other threads may be opening and closing descriptors meanwhile, which is none of our business.
        if (::stat(entry.path().c_str(), &is) != 0 || is.st_dev != file.st_dev || is.st_ino != file.st_ino) continue;
        if (std::none_of(known_descriptors.begin(), known_descriptors.end(),
                         [&](const auto& known) { return known == fd + 1; }))
            return true;
    }
    return false;
}

// The order in which a process that may be killed does things.
void in_this_order() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

void breathe() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

struct ledger::header {
    char magic[24];
    std::uint32_t version;
    std::uint32_t block_size;
    std::array<char, 40> boot;
    std::atomic<std::uint32_t> lock;
    std::uint32_t total_blocks;
    block_number free_first;
    std::uint32_t free_blocks;
    std::uint64_t last_counter;
    std::atomic<std::uint64_t> turns;  // how often the lock was taken: whether its owner moves
    std::atomic<std::uint32_t> gone_next;
    std::atomic<std::uint64_t> gone[64];  // sessions of clients that could not clean up when they left
    struct {
        std::uint32_t count;
        struct {
            std::uint32_t at;
            std::uint32_t size;
            std::uint64_t old;
        } words[64];
    } journal;
    seat_record seat_records[seats::count];
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
    if (known) {
        if (const auto it = mine->opened.find({is.st_dev, is.st_ino}); it != mine->opened.end()) return it->second;
        if (descriptors_not_noted == 0 && opened_by_a_stranger(is))
            throw error(errc::unreachable, "host store in " + where.directory +
                                               ": this process has 'locks' open already, by other means than this copy "
                                               "of the library; the kernel would not tell the two apart. Link the "
                                               "library once, as a shared one");
    }
    struct noting {
        noting() { ++descriptors_not_noted; }
        ~noting() { --descriptors_not_noted; }
    };
    std::shared_ptr<ledger> made;
    {
        const noting until_it_is_known;
        made = std::make_shared<ledger>(where);
        remember_descriptor(made->file_);
    }
    ::fstat(made->file_, &is);
    return mine->opened.emplace(std::pair{is.st_dev, is.st_ino}, std::move(made)).first->second;
}

ledger::ledger(const place& where) : where_(where) {
    static_assert(sizeof(header) <= berths_at);
    const int directory = where_.open_directory();
    try {
        map(directory);
        seats_ = std::make_unique<host::seats>(file_, head().seat_records, where_.directory);
    } catch (...) {
        ::close(directory);
        if (base_ != nullptr) ::munmap(base_, mapped);
        if (file_ >= 0) ::close(file_);
        throw;
    }
    // What cleans up /var/tmp leaves alone what is locked, or young. Nobody else cares about this lock.
    struct stat is {};
    ::fstat(file_, &is);
    device_ = is.st_dev;
    inode_ = is.st_ino;
    directory_ = directory;
    ::flock(directory_, LOCK_SH | LOCK_NB);
    ::futimens(file_, nullptr);
}

ledger::~ledger() {
    ::munmap(base_, mapped);
    ::close(file_);
    ::close(directory_);
}

void ledger::check_in_place() const {
    const auto fail = [&](const char* what) {
        throw error(errc::unreachable, "host store in " + where_.directory + ": " + what);
    };
    if (!is_ours(file_))
        fail("this process closed a descriptor of the store's, so others take it for dead; make a client after that");
    struct stat is {};
    if (::stat((where_.directory + "/locks").c_str(), &is) != 0 || is.st_dev != device_ || is.st_ino != inode_)
        fail(
            "'locks' was deleted or replaced while in use, and others may use the new one; "
            "release what is held and make a new client");
}

bool ledger::is_ours(int descriptor) const noexcept {
    struct stat is {};
    return ::fstat(descriptor, &is) == 0 && is.st_dev == device_ && is.st_ino == inode_;
}

// By its seat, and unless it is a client that left without being able to say so.
bool ledger::alive(const seat& who, std::uint64_t session) const noexcept {
    for (const auto& gone : head().gone)
        if (gone.load(std::memory_order_relaxed) == session && session != 0) return false;
    return seats_->alive(who) || !is_ours(file_);  // in doubt, alive
}

void ledger::give_up(std::uint64_t session) noexcept {
    auto& h = head();
    h.gone[h.gone_next.fetch_add(1) % std::size(h.gone)].store(session);
}

// Opens the file, or makes it; two that do so at once take turns. Nothing is overwritten that is not ours: the magic is
// written last, so a file without it is either foreign or was never finished and holds nothing.
void ledger::map(int directory_fd) {
    const auto fail = [&](errc code, const std::string& what) {
        throw error(code, "host store in " + where_.directory + ": " + what);
    };
    const std::array<char, 40> boot = boot_id();
    if (boot == std::array<char, 40>{})
        fail(errc::unreachable,
             "cannot read /proc/sys/kernel/random/boot_id, which tells whether the machine was restarted; "
             "is /proc mounted, and are descriptors left (ulimit -n)?");
    const mode_t mode = where_.file_mode(directory_fd);
    // Not O_CREAT at once: in a sticky directory the kernel may refuse that for a file that belongs to another user.
    constexpr int how = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    file_ = ::openat(directory_fd, "locks", how);
    if (file_ < 0 && errno == ENOENT) {
        file_ = ::openat(directory_fd, "locks", how | O_CREAT | O_EXCL, mode);
        if (file_ >= 0) ::fchmod(file_, mode);  // the umask is not ours to obey
        if (file_ < 0 && errno == EEXIST) file_ = ::openat(directory_fd, "locks", how);
    }
    if (file_ < 0)
        fail(errc::unreachable, std::string("cannot open 'locks': ") + std::strerror(errno) +
                                    "; may this user read and write it, and are descriptors left (ulimit -n)?");
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        if (std::chrono::steady_clock::now() > give_up)
            fail(errc::unreachable,
                 "another process keeps 'locks' locked while opening it (stopped?); see: fuser locks");
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
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
                                    std::to_string(version) +
                                    (found.version > version ? "; use a newer build or another directory"
                                                             : "; move it away once no older build uses it"));
    if (!ours) {
        if (const int failed = ::posix_fallocate(file_, 0, first_size); failed != 0)
            fail(errc::exhausted,
                 std::string("cannot make 'locks': ") + std::strerror(failed) + "; free some space on its file system");
        is.st_size = first_size;
    }
    void* at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) fail(errc::exhausted, std::string("cannot map 'locks': ") + std::strerror(errno));
    base_ = static_cast<unsigned char*>(at);
    header& h = head();
    if (!ours) {
        h.version = version;
        h.block_size = block_size;
        h.total_blocks = first_blocks;
        begin_anew();
        in_this_order();
        std::memcpy(h.magic, magic, sizeof magic);
    } else if (static_cast<std::uint64_t>(is.st_size) < blocks_at + std::uint64_t{h.total_blocks} * block_size) {
        fail(errc::unreachable, "'locks' was cut short; nothing can be read from it safely; move it away");
    } else if (h.boot != boot) {  // the machine was restarted: nobody holds anything any more
        if (seats::anybody(file_))
            fail(errc::unreachable, "'locks' is of another start of the machine, yet processes use it; move it away");
        begin_anew();
    }
    ::flock(file_, LOCK_UN);
}

// Nothing but the highest counter stays. Whoever is killed in here leaves an old boot id, and the next one begins again.
void ledger::begin_anew() noexcept {
    header& h = head();
    h.journal.count = 0;
    h.lock.store(0);
    std::memset(base_ + berths_at, 0, blocks_at - berths_at);
    for (block_number n = 1; n <= h.total_blocks; ++n) {
        block(n)->kind = block_head::free;
        block(n)->next = n < h.total_blocks ? n + 1 : 0;
    }
    h.free_first = 1;
    h.free_blocks = h.total_blocks;
    in_this_order();
    h.boot = boot_id();
}

auto ledger::head() const noexcept -> header& {
    return *reinterpret_cast<header*>(base_);
}

block_head* ledger::block(block_number n) const noexcept {
    return reinterpret_cast<block_head*>(base_ + blocks_at + std::uint64_t{n - 1} * block_size);
}

std::uint32_t* ledger::buckets() const noexcept {
    return reinterpret_cast<std::uint32_t*>(base_ + buckets_at);
}

std::uint64_t ledger::blocks_in_use() const noexcept {
    return head().total_blocks - head().free_blocks;
}

// --- the lock ---------------------------------------------------------------------------------------------------------

void ledger::take(std::chrono::milliseconds at_most) {
    std::atomic<std::uint32_t>& lock = head().lock;
    const std::uint32_t me = code_of(seats_->mine());
    std::uint32_t seen = 0;
    int looks = 50;  // it is rarely held for longer than that
    while (!lock.compare_exchange_strong(seen, me)) {
        if (--looks == 0) {
            take_slowly(me, at_most);
            break;
        }
        breathe();
        seen = 0;
    }
    head().turns.fetch_add(1, std::memory_order_relaxed);
    if (head().journal.count != 0) undo();
}

void ledger::take_slowly(std::uint32_t me, std::chrono::milliseconds at_most) {
    std::atomic<std::uint32_t>& lock = head().lock;
    const auto begun = std::chrono::steady_clock::now();
    const timespec nap{0, 5'000'000};
    while (true) {
        std::uint32_t seen = lock.load();
        if (seen == 0) {
            if (lock.compare_exchange_strong(seen, me | 1)) return;
            continue;
        }
        if ((seen & 1) == 0 && !lock.compare_exchange_strong(seen, seen | 1)) continue;
        if (futex(lock, FUTEX_WAIT, seen | 1, &nap) == 0 || errno != ETIMEDOUT) continue;
        seat owner{number_in(seen), 0};
        const std::uint32_t term = head().seat_records[owner.number].term.load();
        if ((term & term_mask) == (seen >> 1 & term_mask)) owner.term = term;
        if (!seats_->alive(owner)) {
            seen |= 1;
            if (lock.compare_exchange_strong(seen, me | 1)) return;
        } else if (seats_->looks_stuck(owner, not_moving_for(), patience) ||
                   (at_most < patience && std::chrono::steady_clock::now() - begun > at_most)) {
            throw error(errc::unreachable, "host store in " + where_.directory + ": " + seats_->describe(owner) +
                                               " has been inside the store for " +
                                               std::to_string(std::min(at_most, patience).count()) +
                                               " ms and does not move; is it stopped? kill -CONT it, or kill it");
        }
    }
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

// --- the journal ------------------------------------------------------------------------------------------------------

void ledger::note(void* word, std::size_t size) noexcept {
    auto& journal = head().journal;
    auto& entry = journal.words[journal.count];
    entry.at = static_cast<std::uint32_t>(static_cast<unsigned char*>(word) - base_);
    entry.size = static_cast<std::uint32_t>(size);
    std::memcpy(&entry.old, word, size);
    in_this_order();
    ++journal.count;
    in_this_order();
}

void ledger::commit() noexcept {
    in_this_order();
    head().journal.count = 0;
    in_this_order();
}

void ledger::undo() noexcept {
    auto& journal = head().journal;
    for (std::uint32_t i = std::min<std::uint32_t>(journal.count, std::size(journal.words)); i-- > 0;)
        std::memcpy(base_ + journal.words[i].at, &journal.words[i].old, journal.words[i].size);
    commit();
}

// --- sleeping callers -------------------------------------------------------------------------------------------------

std::atomic<std::uint32_t>& ledger::berth(std::uint32_t number) noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(base_ + berths_at)[number / 2 % berth_count];
}

void ledger::sleep(std::atomic<std::uint32_t>& berth, std::uint32_t seen) noexcept {
    futex(berth, FUTEX_WAIT, seen, nullptr);
}

bool ledger::wake(std::atomic<std::uint32_t>& berth) noexcept {
    berth.fetch_add(1);
    return futex(berth, FUTEX_WAKE, INT_MAX, nullptr) > 0;
}

// --- access -----------------------------------------------------------------------------------------------------------

ledger::access::access(ledger& of, std::chrono::milliseconds at_most) : of_(of), here_(of.threads_, std::defer_lock) {
    if (at_most >= patience) {
        here_.lock();
    } else {
        const auto until = std::chrono::steady_clock::now() + at_most;
        while (!here_.try_lock()) {
            if (std::chrono::steady_clock::now() > until)
                throw error(errc::unreachable, "host store in " + of_.where_.directory + ": busy");
            std::this_thread::sleep_for(std::chrono::microseconds{100});
        }
    }
    of_.take(at_most);
}

ledger::access::~access() {
    if (of_.head().journal.count != 0) of_.undo();
    of_.give_back();
}

void ledger::access::commit() noexcept {
    of_.commit();
    freed_ = false;
}

void ledger::access::pause() noexcept {
    if (of_.head().journal.count > std::size(of_.head().journal.words) / 2) commit();
}

bool ledger::access::has(block_number n) const noexcept {
    return n > 0 && n <= of_.head().total_blocks;
}

void ledger::grow() {
    header& h = head();
    check_in_place();
    const std::uint32_t more = std::clamp(h.total_blocks, first_blocks, 32 * first_blocks);  // others wait meanwhile
    if (std::uint64_t{h.total_blocks} + more > most_blocks)
        throw error(errc::exhausted,
                    "host store in " + where_.directory + ": it holds 1 GiB of locks, which is the limit");
    const auto from = static_cast<off_t>(blocks_at + std::uint64_t{h.total_blocks} * block_size);
    if (const int failed = ::posix_fallocate(file_, from, off_t{more} * block_size); failed != 0)
        throw error(errc::exhausted, "host store in " + where_.directory + ": cannot grow: " + std::strerror(failed) +
                                         "; free some space on its file system");
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
    while (n != 0 && name(n).text() != text) n = name(n).next;
    return n;
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
    while (*link != n) link = &name(*link).next;
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
        for (block_number n = of_.buckets()[bucket]; n != 0; n = name(n).next) names.push_back(n);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i % 64 == 0) of_.head().turns.fetch_add(1, std::memory_order_relaxed);  // it takes long, but it moves
        visit(names[i]);
    }
}

std::string ledger::access::problem() {
    const header& h = of_.head();
    std::vector<bool> met(h.total_blocks + 1);
    std::string wrong;
    const auto meet = [&](block_number n, std::uint32_t kind, const char* where) {
        if (!has(n)) {
            wrong = std::string(where) + " leads outside";
        } else if (met[n]) {
            wrong = std::string(where) + " leads to a block that is already in use";
        } else if (of_.block(n)->kind != kind) {
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
    for (block_number n = h.free_first; n != 0; n = of_.block(n)->next, ++free)
        if (!meet(n, block_head::free, "the free list")) return wrong;
    if (free != h.free_blocks)
        return "the free list has " + std::to_string(free) + " blocks, not " + std::to_string(h.free_blocks);
    if (used + free != h.total_blocks) return std::to_string(h.total_blocks - used - free) + " blocks are lost";
    return {};
}

base::ended_claim& ledger::access::last_end(const claim_id& id) noexcept {
    return reinterpret_cast<base::ended_claim*>(of_.base_ + ends_at)[id.bits[0] % end_count];
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
