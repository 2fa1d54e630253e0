#include "stores/host/ledger_file.hpp"

#include "stores/host/temporary_error.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <thread>

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

// The kernel would send SIGXFSZ, which ends a program that does not expect it.
bool beyond_the_limit_of_file_size(std::uint64_t size) {
    rlimit most{};
    return ::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && size > most.rlim_cur;
}

}  // namespace

ledger_file::ledger_file(const store_directory& where) : where_(where), map_(where.directory) {
    static_assert(sizeof(zeros_) == block_size);
    const int directory = where_.open_directory();
    try {
        open(directory);
    } catch (...) {
        ::close(directory);
        if (file_ >= 0) ::close(file_);
        throw;
    }
    struct stat is {};
    ::fstat(file_, &is);
    device_ = is.st_dev;
    inode_ = is.st_ino;
    directory_ = directory;
    // Cleaners of /var/tmp spare what is locked, or young. Nothing else uses this lock.
    ::flock(directory_, LOCK_SH | LOCK_NB);
    ::futimens(file_, nullptr);
}

ledger_file::~ledger_file() {
    ::close(file_);
    ::close(directory_);
}

void ledger_file::fail(errc code, const std::string& what) const {
    throw error(code, "host store in " + where_.directory + ": " + what);
}

void ledger_file::fail_damaged() const {
    fail(errc::unreachable, std::string("'locks' ") + (map_.truncated() ? "was cut short while in use" : "is damaged") +
                                "; stop all who use it (fuser locks), remove it, start them again");
}

void ledger_file::check_in_place() const {
    if (!is_open())
        fail(errc::unreachable,
             "this process closed a descriptor of the store's, so others take it for dead; make a client after that");
    if (damaged()) fail_damaged();
    struct stat is {};
    std::array<char, sizeof magic> begins{};
    if (::fstat(file_, &is) == 0 &&
        static_cast<std::uint64_t>(is.st_size) < blocks_at + std::uint64_t{map_.block_count()} * block_size) {
        map_.truncated() = true;
        fail_damaged();
    }
    if (::pread(file_, begins.data(), begins.size(), 0) == ssize_t{begins.size()} &&
        std::memcmp(begins.data(), magic, sizeof magic) != 0)
        fail(errc::unreachable,
             "'locks' was overwritten while in use; stop all who use it (fuser locks), remove it, "
             "start them again");
    // By its path, unless that may no longer be searched: the process may have changed its user.
    int found = ::stat((where_.directory + "/locks").c_str(), &is);
    if (found != 0 && errno != ENOENT && errno != ENOTDIR) found = ::fstatat(directory_, "locks", &is, 0);
    if (found != 0 || is.st_dev != device_ || is.st_ino != inode_)
        fail(errc::unreachable,
             "'locks' was deleted or replaced while in use, and others may use the new one; "
             "release what is held and make a new client");
}

bool ledger_file::is_open() const noexcept {
    struct stat is {};
    return ::fstat(file_, &is) == 0 && is.st_dev == device_ && is.st_ino == inode_;
}

// --- opening ----------------------------------------------------------------------------------------------------------

void ledger_file::open(int directory_fd) {
    if (boot_id() == std::array<char, 40>{})
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
    if (!usable()) {  // two that make it at once take turns
        const auto give_up = std::chrono::steady_clock::now() + ledger_patience;
        for (std::chrono::milliseconds nap{1}; ::flock(file_, LOCK_EX | LOCK_NB) != 0;
             nap = std::min(2 * nap, std::chrono::milliseconds{20})) {
            if (std::chrono::steady_clock::now() > give_up)
                throw temporary_error(errc::unreachable,
                                      "host store in " + where_.directory +
                                          ": another process keeps 'locks' locked while opening it; is it "
                                          "stopped? see: fuser locks");
            std::this_thread::sleep_for(nap);
        }
        if (!usable()) make();
        ::flock(file_, LOCK_UN);
    }
    map_.map_front(file_);
}

// Whether it is ours, whole, and of this start of the machine. Read, not mapped: whatever it is, nothing happens. Throws if
// it never will be. The magic is written last, so a file without it is either foreign or was never finished.
bool ledger_file::usable() const {
    file_header found{};
    const ssize_t got = ::pread(file_, &found, offsetof(file_header, slot_records), 0);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (std::memcmp(found.magic, magic, sizeof magic) != 0) return false;
    struct stat is {};  // after the header: a file that is just being made, or grows, has its size first
    ::fstat(file_, &is);
    const auto cut_short = [&] {
        fail(errc::unreachable, "'locks' was cut short; nothing can be read from it safely; move it away");
    };
    if (got < ssize_t{offsetof(file_header, block_size)}) cut_short();
    if (found.version > version || found.version < oldest_convertible)
        fail(errc::unreachable, "'locks' has format " + std::to_string(found.version) + ", this build reads format " +
                                    std::to_string(version) +
                                    (found.version > version ? "; use a newer build or another directory"
                                                             : "; move it away once no older build uses it"));
    const auto size = static_cast<std::uint64_t>(is.st_size);
    if (size < blocks_at) cut_short();
    if (found.block_size != block_size || found.total_blocks < first_blocks || found.total_blocks > most_blocks ||
        found.journal.count > std::size(found.journal.words))
        fail_damaged();
    if (size < blocks_at + std::uint64_t{found.total_blocks} * block_size) cut_short();
    return found.version == version && found.boot == boot_id();
}

// With the file locked, when it is not usable as it is. Nothing is overwritten that is not ours.
void ledger_file::make() {
    struct stat is {};
    ::fstat(file_, &is);
    file_header found{};
    const auto got = ::pread(file_, &found, offsetof(file_header, lock), 0);
    const bool ours = got == ssize_t{offsetof(file_header, lock)} && std::memcmp(found.magic, magic, sizeof magic) == 0;
    const std::uint64_t first_size = blocks_at + std::uint64_t{first_blocks} * block_size;
    const auto zero = [](char c) { return c == 0; };
    const auto zeros_only = [&] {
        std::string all(static_cast<std::size_t>(is.st_size), 'x');
        return ::pread(file_, all.data(), all.size(), 0) == is.st_size && std::all_of(all.begin(), all.end(), zero);
    };
    const auto size = static_cast<std::uint64_t>(is.st_size);
    const bool blank = size == first_size ? std::all_of(std::begin(found.magic), std::end(found.magic), zero) &&
                                                found.version <= version
                                          : size < first_size && zeros_only();
    if (!ours && process_slots::in_use(file_))
        fail(errc::unreachable,
             "'locks' was emptied or overwritten, yet processes use it; stop them (fuser locks), remove "
             "it, start them again");
    if (!ours && !blank) fail(errc::unreachable, "'locks' is not a file of Mortise; move it away");
    if (!ours) make_room(0, first_size);
    map_.map_front(file_);
    file_header& h = header();
    if (!ours) {
        h.version = version;
        h.block_size = block_size;
        h.total_blocks = first_blocks;
        begin_anew();
        std::atomic_thread_fence(std::memory_order_seq_cst);
        std::memcpy(h.magic, magic, sizeof magic);
    } else if (process_slots::in_use(file_)) {
        fail(errc::unreachable, h.boot != boot_id()
                                    ? "'locks' is of another start of the machine, yet processes use it; move it away"
                                    : "'locks' is used by an older build (format " + std::to_string(h.version) +
                                          "); stop its processes first (fuser locks)");
    } else {
        h.next_slot_search = 0;
        if (h.boot != boot_id()) begin_anew();  // the machine was restarted: nobody holds anything any more
        h.version = version;
    }
}

// Nothing but the highest counter stays. Whoever is killed in here leaves an old boot id, and the next one begins again.
void ledger_file::begin_anew() {
    file_header& h = header();
    h.journal.count = 0;
    h.lock.store(0);
    std::memset(map_.front() + wait_slots_at, 0, blocks_at - wait_slots_at);
    map_.map_blocks(h.total_blocks);
    for (block_number n = 1; n <= h.total_blocks; ++n) {
        block_head& free = *block(n);
        free.kind = block_head::free;
        free.next = n < h.total_blocks ? n + 1 : 0;
    }
    h.free_first = 1;
    h.free_blocks = h.total_blocks;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    h.boot = boot_id();
}

void ledger_file::make_room(std::uint64_t from, std::uint64_t to) const {
    const int failed = beyond_the_limit_of_file_size(to)
                           ? EFBIG
                           : ::posix_fallocate(file_, static_cast<off_t>(from), static_cast<off_t>(to - from));
    if (failed == 0) return;
    fail(errc::exhausted, std::string("cannot make room in 'locks': ") + std::strerror(failed) +
                              (failed == EFBIG ? "; raise the limit of file size (ulimit -f) to " +
                                                     std::to_string((to + 1023) >> 10) + " KiB or more"
                                               : "; free some space on its file system"));
}

// So many as the file has by now; others may have let it grow.
void ledger_file::reach() {
    const std::uint32_t blocks = header().total_blocks;
    if (blocks == map_.block_count()) return;
    struct stat is {};
    if (blocks < first_blocks || blocks > most_blocks || ::fstat(file_, &is) != 0 ||
        static_cast<std::uint64_t>(is.st_size) < blocks_at + std::uint64_t{blocks} * block_size) {
        damaged_ = true;
        fail_damaged();
    }
    map_.map_blocks(blocks);
}

void ledger_file::grow() {
    file_header& h = header();
    check_in_place();
    const std::uint32_t more = std::clamp(h.total_blocks, first_blocks, 32 * first_blocks);  // others wait meanwhile
    if (std::uint64_t{h.total_blocks} + more > most_blocks)
        throw error(errc::exhausted,
                    "host store in " + where_.directory + ": it holds 1 GiB of locks, which is the limit");
    const std::uint64_t end = blocks_at + std::uint64_t{h.total_blocks} * block_size;
    make_room(end, end + std::uint64_t{more} * block_size);
    map_.map_blocks(h.total_blocks + more);
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

// --- the journal ------------------------------------------------------------------------------------------------------

void ledger_file::commit() noexcept {
    in_this_order();
    header().journal.count = 0;
    in_this_order();
}

void ledger_file::undo() noexcept {
    auto& journal = header().journal;
    for (std::uint32_t i = std::min<std::uint32_t>(journal.count, std::size(journal.words)); i-- > 0;) {
        const auto entry = journal.words[i];
        unsigned char* const word = entry.size == 4 || entry.size == 8 ? map_.at(entry.at, entry.size) : nullptr;
        if (word == nullptr) {
            damaged_ = true;
        } else {
            std::memcpy(word, &entry.old, entry.size);
        }
    }
    commit();
}

}  // namespace mortise::inline v0::stores::host
