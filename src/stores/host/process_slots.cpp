#include "stores/host/process_slots.hpp"

#include "stores/host/temporary_error.hpp"

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
constexpr std::uint32_t reader_byte = process_slots::count;
constexpr std::uint32_t tried_in_order = 16;
constexpr std::uint32_t term_mask = (1u << 20) - 1;
constexpr std::int64_t search_every_ns = 50'000'000;
static_assert(process_slots::count == 1024, "10 bits of the lock's word");

struct flock one_byte(std::uint32_t number, short type = F_WRLCK) {
    struct flock byte {};
    byte.l_type = type;
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

process_slots::process_slots(int file, const shared_part& shared, std::string directory)
    : file_(file), shared_(shared), directory_(std::move(directory)), my_space_(pid_namespace()) {}

void process_slots::acquire(urgency when) {
    if (acquired()) return;
    if (may_search(when)) {
        // The first few in order: most directories need no more. Then from a random one on, so that many processes at once do
        // not all try the same taken slots.
        const std::uint32_t start = std::random_device{}() % count;
        for (std::uint32_t i = 0; i < tried_in_order + count; ++i)
            if (take(i < tried_in_order ? i : (start + i) % count)) return;
    }
    throw temporary_error(errc::exhausted, "host store in " + directory_ + ": all " + std::to_string(count) +
                                               " process slots are taken; wait for one (-w), or use another directory "
                                               "(host:/path) for some of the processes");
}

bool process_slots::may_search(urgency when) noexcept {
    if (when == urgency::now) return true;
    const std::int64_t now = boot_clock::now().time_since_epoch().count();
    std::int64_t due = shared_.next_search.load();
    const bool plausible = due <= now + search_every_ns;  // else it is from before a restart of the machine
    return (now >= due || !plausible) && shared_.next_search.compare_exchange_strong(due, now + search_every_ns);
}

bool process_slots::take(std::uint32_t number) {
    struct flock byte = one_byte(number);
    if (::fcntl(file_, F_SETLK, &byte) != 0) {
        if (errno == EACCES || errno == EAGAIN) return false;
        throw error(errc::unreachable,
                    "host store in " + directory_ + ": cannot take a record lock: " + std::strerror(errno));
    }
    process_slot_record& record = shared_.records[number];
    mine_ = {number, record.term.load() + 1};
    if (word_of(mine_) == reader_word) ++mine_.term;
    describe_self_in(record);
    record.term.store(mine_.term);
    shared_.next_search.store(0);  // more may be free
    acquired_.store(true, std::memory_order_release);
    return true;
}

void process_slots::describe_self_in(process_slot_record& record) const noexcept {
    record.pid.store(::getpid());
    record.pid_space.store(my_space_);
}

void process_slots::begin_read(std::chrono::milliseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    struct flock byte = one_byte(reader_byte);
    while (::fcntl(file_, F_SETLK, &byte) != 0) {
        if (std::chrono::steady_clock::now() > until)
            throw temporary_error(errc::unreachable, "host store in " + directory_ + ": " + describe(reader_slot) +
                                                         " is reading it and does not finish; try again");
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    describe_self_in(shared_.reader);
}

void process_slots::end_read() noexcept {
    struct flock byte = one_byte(reader_byte, F_UNLCK);
    ::fcntl(file_, F_SETLK, &byte);
}

bool process_slots::in_use(int file) noexcept {
    struct flock all = one_byte(0);
    all.l_len = count + 1;
    return ::fcntl(file, F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

std::uint32_t process_slots::taken() const noexcept {
    std::uint32_t sum = acquired() ? 1 : 0;
    for (std::uint32_t number = 0; number < count; ++number) {
        struct flock byte = one_byte(number);
        if (::fcntl(file_, F_GETLK, &byte) == 0 && byte.l_type != F_UNLCK) ++sum;
    }
    return sum;
}

std::uint32_t process_slots::word_of(const process_slot& slot) noexcept {
    return 1u << 31 | slot.number << 21 | (slot.term & term_mask) << 1;
}

// Term 0, which nobody has, if the slot has been given out again since.
process_slot process_slots::slot_in(std::uint32_t word) const noexcept {
    if ((word | 1) == (reader_word | 1)) return reader_slot;
    const std::uint32_t number = word >> 21 & (count - 1);
    const std::uint32_t term = shared_.records[number].term.load();
    return {number, (term & term_mask) == (word >> 1 & term_mask) ? term : 0};
}

const process_slot_record* process_slots::record_of(const process_slot& slot) const noexcept {
    if (slot == reader_slot) return &shared_.reader;
    return slot.number < count && shared_.records[slot.number].term.load() == slot.term ? &shared_.records[slot.number]
                                                                                        : nullptr;
}

bool process_slots::alive(const process_slot& slot) const noexcept {
    if (acquired() && slot == mine_) return true;
    if (record_of(slot) == nullptr || (acquired() && slot.number == mine_.number)) return false;
    struct flock byte = one_byte(slot.number);
    return ::fcntl(file_, F_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;  // in doubt, alive
}

pid_t process_slots::pid_here(const process_slot& slot) const noexcept {
    const process_slot_record* const its = record_of(slot);
    return its != nullptr && its->pid_space.load() == my_space_ ? its->pid.load() : 0;
}

bool process_slots::stopped(const process_slot& slot) const {
    const pid_t pid = pid_here(slot);
    if (pid == 0) return false;
    std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
    std::string stat;
    std::getline(in, stat);
    const std::size_t name_end = stat.rfind(')');
    const char state = name_end != stat.npos && name_end + 2 < stat.size() ? stat[name_end + 2] : '?';
    return state == 'T' || state == 't';
}

std::string process_slots::describe(const process_slot& slot) const {
    const pid_t pid = pid_here(slot);
    return pid != 0 ? "pid " + std::to_string(pid) : "a process of another pid namespace";
}

}  // namespace mortise::inline v0::stores::host
