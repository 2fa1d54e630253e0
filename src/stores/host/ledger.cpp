#include "stores/host/ledger.hpp"

#include "stores/host/format.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstring>
#include <fstream>
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

using namespace format;

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

void breathe() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

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

}  // namespace mortise::inline v0::stores::host
