#include "stores/host/seats.hpp"

#include "stores/host/ledger.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/error.hpp>

#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

constexpr off_t first_byte = off_t{1} << 40;
constexpr std::uint32_t visitors_byte = seats::count;
constexpr std::uint32_t tried_in_order = 16;
constexpr std::uint32_t term_mask = (1u << 20) - 1;
constexpr std::int64_t search_every_ns = 50'000'000;
static_assert(seats::count == 1024, "10 bits of the lock's word");

struct flock one_byte(std::uint32_t number, short how = F_WRLCK) {
    struct flock byte {};
    byte.l_type = how;
    byte.l_whence = SEEK_SET;
    byte.l_start = first_byte + number;
    byte.l_len = 1;
    return byte;
}

std::uint64_t pid_namespace() {
    struct stat is {};
    return ::stat("/proc/self/ns/pid", &is) == 0 ? is.st_ino : 0;
}

}  // namespace

seats::seats(int file, const shared_part& shared, std::string directory)
    : file_(file), shared_(shared), directory_(std::move(directory)), my_space_(pid_namespace()) {}

void seats::sit(hurry how) {
    if (seated()) return;
    if (may_search(how)) {
        // The first few in order: most directories have no more. Of the others anyone, so that a crowd does not ask for
        // each seat that is taken.
        const std::uint32_t start = std::random_device{}() % count;
        for (std::uint32_t i = 0; i < tried_in_order + count; ++i)
            if (take(i < tried_in_order ? i : (start + i) % count)) return;
    }
    throw not_now(errc::exhausted, "host store in " + directory_ + ": all " + std::to_string(count) +
                                       " seats for processes are taken; wait for one (-w), or use another directory "
                                       "(host:/path) for some of the processes");
}

bool seats::may_search(hurry how) noexcept {
    if (how == hurry::now) return true;
    const std::int64_t now = boot_clock::now().time_since_epoch().count();
    std::int64_t due = shared_.next_search.load();
    const bool plausible = due <= now + search_every_ns;  // and not of another start of the machine
    return (now >= due || !plausible) && shared_.next_search.compare_exchange_strong(due, now + search_every_ns);
}

bool seats::take(std::uint32_t number) {
    struct flock byte = one_byte(number);
    if (::fcntl(file_, F_SETLK, &byte) != 0) {
        if (errno == EACCES || errno == EAGAIN) return false;
        throw error(errc::unreachable,
                    "host store in " + directory_ + ": cannot take a record lock: " + std::strerror(errno));
    }
    seat_record& record = shared_.records[number];
    mine_ = {number, record.term.load() + 1};
    if (word_of(mine_) == visitor_word) ++mine_.term;
    write_down(record);
    record.term.store(mine_.term);
    shared_.next_search.store(0);  // where one is free, more may be
    seated_.store(true, std::memory_order_release);
    return true;
}

void seats::write_down(seat_record& record) const noexcept {
    record.pid.store(::getpid());
    record.pid_space.store(my_space_);
}

void seats::begin_visit(std::chrono::milliseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    struct flock byte = one_byte(visitors_byte);
    while (::fcntl(file_, F_SETLK, &byte) != 0) {
        if (std::chrono::steady_clock::now() > until)
            throw not_now(errc::unreachable, "host store in " + directory_ + ": " + describe(visitors) +
                                                 " looks at it, and does not get done; ask again");
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    write_down(shared_.visitor);
}

void seats::end_visit() noexcept {
    struct flock byte = one_byte(visitors_byte, F_UNLCK);
    ::fcntl(file_, F_SETLK, &byte);
}

bool seats::anybody(int file) noexcept {
    struct flock all = one_byte(0);
    all.l_len = count + 1;
    return ::fcntl(file, F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

std::uint32_t seats::taken() const noexcept {
    std::uint32_t sum = seated() ? 1 : 0;
    for (std::uint32_t number = 0; number < count; ++number) {
        struct flock byte = one_byte(number);
        if (::fcntl(file_, F_GETLK, &byte) == 0 && byte.l_type != F_UNLCK) ++sum;
    }
    return sum;
}

std::uint32_t seats::word_of(const seat& who) noexcept {
    return 1u << 31 | who.number << 21 | (who.term & term_mask) << 1;
}

// One whose term is not the present one is nobody's.
seat seats::seat_in(std::uint32_t word) const noexcept {
    if ((word | 1) == (visitor_word | 1)) return visitors;
    const std::uint32_t number = word >> 21 & (count - 1);
    const std::uint32_t term = shared_.records[number].term.load();
    return {number, (term & term_mask) == (word >> 1 & term_mask) ? term : 0};
}

const seat_record* seats::record_of(const seat& who) const noexcept {
    if (who == visitors) return &shared_.visitor;
    return who.number < count && shared_.records[who.number].term.load() == who.term ? &shared_.records[who.number]
                                                                                     : nullptr;
}

bool seats::alive(const seat& who) const noexcept {
    if (seated() && who == mine_) return true;
    if (record_of(who) == nullptr || (seated() && who.number == mine_.number)) return false;
    struct flock byte = one_byte(who.number);
    return ::fcntl(file_, F_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;  // in doubt, alive
}

pid_t seats::pid_here(const seat& who) const noexcept {
    const seat_record* const its = record_of(who);
    return its != nullptr && its->pid_space.load() == my_space_ ? its->pid.load() : 0;
}

bool seats::stopped(const seat& who) const {
    const pid_t pid = pid_here(who);
    if (pid == 0) return false;
    std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
    std::string stat;
    std::getline(in, stat);
    const std::size_t name_end = stat.rfind(')');
    const char state = name_end != stat.npos && name_end + 2 < stat.size() ? stat[name_end + 2] : '?';
    return state == 'T' || state == 't';
}

std::string seats::describe(const seat& who) const {
    const pid_t pid = pid_here(who);
    return pid != 0 ? "pid " + std::to_string(pid) : "a process of another pid namespace";
}

}  // namespace mortise::inline v0::stores::host
